"""More paths for claims: the same paths as those of a study, and sums at the rounds where claims look."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.reproduce import EXTENSIONS
from dtrbandit.reproduce.extensions import arms, delay, features, one_stage, stages
from dtrbandit.reproduce.more_paths import MorePaths, common_paths, more_paths, rounds_of_claims, stage_totals
from dtrbandit.reproduce.reproduction import DTRB, Setting
from dtrbandit.simulation.inputs import Inputs
from reproduce.curves import RegretCurve, logarithmic, power
from reproduce.extension_studies import HORIZON as LONG
from reproduce.extension_studies import by_hand

POLICIES = {"DTRB": dtr.DTRBandit(q=2, delta=0.5), "Greedy": dtr.Greedy(), "LSVI-UCB": dtr.LSVIUCB()}
HORIZON, PATHS = 120, 2


@pytest.fixture(scope="module")
def found() -> MorePaths:
    study = dtr.simulate(Synthetic(), POLICIES, horizon=HORIZON, paths=PATHS, seed=5)
    inputs = Inputs(Synthetic(), POLICIES, horizon=HORIZON, paths=PATHS, seed=5)
    rounds = rounds_of_claims(HORIZON, [8])
    return more_paths(study, inputs, {"DTRB": 5, "Greedy": 7}, rounds=rounds, n_jobs=1, progress=False)


@pytest.mark.parametrize(("policy", "paths"), [("DTRB", 5), ("Greedy", 7), ("LSVI-UCB", 2)])
def test_path_k_is_the_same_path_however_many_there_are(found: MorePaths, policy: str, paths: int) -> None:
    study = dtr.simulate(Synthetic(), POLICIES, horizon=HORIZON, paths=paths, seed=5)

    for at in ([HORIZON], [HORIZON // 2, HORIZON], [16, 32, 64]):
        total = found.total_regret(policy, at)
        assert total == pytest.approx(study.total_regret(policy, at), rel=1e-12)
        assert stage_totals(found, policy, np.array(at)).tolist() == stage_totals(study, policy, np.array(at)).tolist()
    assert found.horizon == HORIZON


def test_a_study_with_paths_enough_gets_no_more(found: MorePaths) -> None:
    inputs = Inputs(Synthetic(), POLICIES, horizon=HORIZON, paths=PATHS, seed=5)

    same = more_paths(found.study, inputs, {"DTRB": 2, "Greedy": 1}, rounds=found.rounds, n_jobs=1, progress=False)

    assert not same.sums
    assert len(same.total_regret("Greedy", [HORIZON])) == PATHS


def test_sums_are_known_only_at_the_rounds_where_claims_look(found: MorePaths) -> None:
    assert found.rounds.tolist() == [8, 16, 32, 60, 64, 120]
    for at in ([17], [HORIZON, 61]):
        with pytest.raises(AssertionError):
            found.total_regret("Greedy", at)


def test_policies_are_compared_on_the_paths_that_all_have(found: MorePaths) -> None:
    ends = [found.total_regret(name, [HORIZON])[:, 0] for name in POLICIES]

    shortened = common_paths(ends)

    assert [len(own) for own in shortened] == [2, 2, 2]
    assert all((own == end[:2]).all() for own, end in zip(shortened, ends, strict=True))


def test_progress_says_that_these_are_the_claims_paths(capfd: pytest.CaptureFixture[str]) -> None:
    study = dtr.simulate(Synthetic(), POLICIES, horizon=HORIZON, paths=PATHS)
    inputs = Inputs(Synthetic(), POLICIES, horizon=HORIZON, paths=PATHS)

    more_paths(study, inputs, {"Greedy": 3}, rounds=rounds_of_claims(HORIZON, [8]), n_jobs=1, progress=True)

    assert "claims' paths: 3 of 3" in capfd.readouterr().err


# -- claims about means in the extensions ------------------------------------------------------------------------------


def mean_claims(name: str, settings: dict[str, Setting], curve: RegretCurve) -> str:
    """Return the verdicts on an extension's claims about means; the last of these settings follows the curve."""
    curves = dict.fromkeys(EXTENSIONS[name].settings, logarithmic(20.0)) | {list(settings)[-1]: curve}
    studies, many = by_hand(curves), {}
    for each, study in studies.items():
        setting = EXTENSIONS[name].settings[each]
        rounds, stages_there = rounds_of_claims(LONG, [setting.block]), len(setting.environment.design.stages)
        first = stage_totals(study, DTRB, rounds)[:, :, :1]
        many[each] = MorePaths(study, rounds, {DTRB: np.tile(first, (25, 1, stages_there))})  # 1,000 paths of 40
    found = EXTENSIONS[name].claims(studies, many)
    return "".join(claim.verdict.mark for claim in found if "mean" in claim.claim and "mean delay" not in claim.claim)


@pytest.mark.parametrize(
    ("name", "settings", "count"),
    [
        ("delay", delay.SETTINGS, 2),
        ("arms", {arms.FOUR_ARMS: arms.SETTING}, 1),
        ("stages", {stages.THREE_STAGES: stages.SETTING}, 1),
        ("one_stage", {one_stage.EMBEDDED: one_stage.SETTINGS[one_stage.EMBEDDED]}, 1),
        ("features", {features.TOO_MANY: features.SETTINGS[features.TOO_MANY]}, 1),
    ],
)
def test_with_1000_paths_claims_about_means_can_be_told_and_can_fail(
    name: str, settings: dict[str, Setting], count: int
) -> None:
    assert mean_claims(name, settings, logarithmic(20.0)) == "✓" * count
    assert mean_claims(name, settings, power(5.0, 0.35)) == "✗" * count
