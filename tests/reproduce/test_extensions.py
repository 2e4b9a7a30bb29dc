"""What the paper proves but never shows: claims hold where they should, and every one of them can fail."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.design.schedule import forced_plan
from dtrbandit.environments import Linear, Synthetic
from dtrbandit.reproduce import EXTENSIONS, reproduce
from dtrbandit.reproduce.extensions import arms, delay, features, growth, margin, one_stage, stages
from dtrbandit.reproduce.extensions.delay import DELAYS
from dtrbandit.reproduce.extensions.extension import DTRB, Setting, summary_of
from dtrbandit.reproduce.extensions.forced_rounds import forced_rounds, free_regret
from reproduce.curves import PATHS, Curve, logarithmic, power, study_of

Array = NDArray[np.float64]

HORIZON = 10_000  # so that the last two decades have free rounds, also between blocks of 160


def by_hand(curves: Mapping[str, Curve]) -> dict[str, dtr.Study]:
    """Return a study for each setting, in which DTRBandit has the regret that its curve says."""
    return {name: study_of({DTRB: curve}, HORIZON) for name, curve in curves.items()}


def failures(name: str, studies: Mapping[str, dtr.Study]) -> list[int]:
    """Return the places of the claims that do not hold."""
    return [place for place, claim in enumerate(EXTENSIONS[name].claims(studies)) if not claim.holds]


# -- free rounds ---------------------------------------------------------------------------------------------

LOGARITHMIC = {
    "delay": (delay.SETTINGS, 1),
    "arms": ({arms.FOUR_ARMS: arms.SETTING}, 3),
    "stages": ({stages.THREE_STAGES: stages.SETTING}, 2),
    "one_stage": ({one_stage.EMBEDDED: one_stage.SETTINGS[one_stage.EMBEDDED]}, 4),
    "features": ({name: features.SETTINGS[name] for name in (features.RIGHT, features.TOO_MANY)}, 1),
}


def free_rounds(
    settings: Mapping[str, Setting], exponents: Sequence[float], *, forced: float = 1.0, free: float = 1.0
) -> dict[str, dtr.Study]:
    """Return studies whose forced rounds cost the same, and whose free rounds t cost t to these exponents less 1."""
    studies = {}
    for (name, setting), exponent in zip(settings.items(), exponents, strict=True):
        t, paths = np.arange(1.0, HORIZON + 1), 1 + np.arange(PATHS)[:, None] / 1000
        rounds = np.where(forced_rounds(HORIZON, setting), forced, free * t ** (exponent - 1)) * paths
        both = np.stack([rounds, 0 * rounds], axis=2)
        studies[name] = replace(study_of({DTRB: power(1.0, 1.0)}, HORIZON), stage_regret={DTRB: both})
    return studies


@pytest.mark.parametrize("name", LOGARITHMIC)
@pytest.mark.parametrize(("exponent", "holds"), [(0.0, True), (0.4, True), (0.6, False), (1.0, False)])
def test_free_rounds_that_grow_too_fast_are_noticed_beside_forced_ones(
    name: str, exponent: float, *, holds: bool
) -> None:
    settings, _ = LOGARITHMIC[name]
    studies = free_rounds(settings, [exponent] * len(settings), free=0.01)

    assert growth.slower_than_root(studies, settings).holds == holds


def test_regret_that_begins_late_grows_and_regret_that_ends_does_not() -> None:
    settings, _ = LOGARITHMIC["arms"]
    (study,) = free_rounds(settings, [0.0]).values()
    assert study.stage_regret is not None
    regret, tenth = study.stage_regret[DTRB], HORIZON // 10

    found = {}
    for which, span in (("late", slice(0, tenth)), ("early", slice(tenth, HORIZON))):
        cut = regret.copy()
        cut[:, span] = 0.0
        rest = replace(study, stage_regret={DTRB: cut})
        found[which] = growth.growth_of_free(rest, arms.SETTING).exponent

    assert found == {"late": float("inf"), "early": float("-inf")}


# -- delay ---------------------------------------------------------------------------------------------------


def later(curve: Curve, penalty: float) -> Curve:
    """Return a curve with a penalty that is paid in the first hundred rounds or so."""
    return lambda t, path: curve(t, path) + penalty * (1 - np.exp(-t / 30))


DELAYED: dict[str, Curve] = {
    "no delay": logarithmic(20.0),
    **{name: later(logarithmic(20.0), 0.1 * mean) for name, mean in DELAYS.items()},
}


@pytest.mark.parametrize(
    ("changed", "failing"),
    [
        ({}, []),
        ({"delay 300": power(1.0, 0.55)}, [0, 1, 2]),
        ({"delay 300": logarithmic(26.0)}, [2]),
        ({"delay 30": logarithmic(15.0)}, [2]),
        ({"delay 300": DELAYED["delay 10"]}, [3]),
        ({"delay 10": later(logarithmic(20.0), 20.0)}, [4]),
    ],
)
def test_delay_is_a_penalty_that_adds(changed: dict[str, Curve], failing: list[int]) -> None:
    assert failures("delay", by_hand({**DELAYED, **changed})) == failing


# -- arms ----------------------------------------------------------------------------------------------------


def four_arms(paths: int, curve: Curve, *, round_: int = HORIZON) -> dict[str, dtr.Study]:
    """Return a study that follows the schedule, and on so many paths gives arms that are never best in a free round."""
    given = np.zeros((PATHS, HORIZON, 2), dtype=np.int8)
    for m, coefficients in enumerate(arms.PROBLEM.coefficients):
        given[:, :, m] = np.argmin(arms.dominated(coefficients))
        given[:paths, round_ - 1, m] = np.argmax(arms.dominated(coefficients))
    plans = arms.PROBLEM.design.arm_plans
    for t in range(1, HORIZON + 1):
        plan = forced_plan(t, plans, q=arms.SETTING.policy.q)
        if plan is not None:
            given[:, t - 1] = plan
    return {arms.FOUR_ARMS: replace(study_of({DTRB: curve}, HORIZON), arms={DTRB: given})}


@pytest.mark.parametrize(
    ("paths", "curve", "failing"),
    [
        (0, logarithmic(20.0), []),
        (1, logarithmic(20.0), [1]),  # one path late, none early: they do not die out
        (5, logarithmic(20.0), [0, 1]),  # more than a tenth of the paths
        (0, power(2.0, 0.55), [2, 3]),
    ],
)
def test_arms_that_are_never_best_are_pulled_only_when_forced(paths: int, curve: Curve, failing: list[int]) -> None:
    assert failures("arms", four_arms(paths, curve)) == failing


def test_the_first_blocks_end_where_a_forced_block_begins() -> None:
    """16 plans of 10 rounds: blocks begin after 0, 160, 480, 1,120, 2,400 and 4,960 rounds."""
    assert [arms.first_blocks(horizon) for horizon in (10_000, 11_200, 11_210, 1_600, 100)] == [
        1_120,
        1_120,
        2_400,
        480,
        10,
    ]


def test_free_pulls_die_out_when_fewer_paths_have_them_after_the_first_blocks() -> None:
    """Rounds 321 to 480 are free, as is the last."""
    early, late = (four_arms(3, logarithmic(20.0), round_=t)[arms.FOUR_ARMS].arms[DTRB] for t in (400, HORIZON))
    study = study_of({DTRB: logarithmic(20.0)}, HORIZON)

    def failing(paths: int) -> list[int]:
        """Let the first three paths give such an arm early, and so many of them late as well."""
        given = np.where(np.arange(PATHS)[:, None, None] < paths, late, early)
        given[:, :1_000] = early[:, :1_000]
        return failures("arms", {arms.FOUR_ARMS: replace(study, arms={DTRB: given})})

    assert [failing(paths) for paths in (0, 2, 3)] == [[], [], [1]]


@pytest.mark.parametrize(("k", "suboptimal"), [(2, 0), (3, 1), (4, 2), (5, 4)])
def test_dominated_arms_are_those_that_are_never_best(k: int, suboptimal: int) -> None:
    problem = Linear(arms=k, suboptimal=suboptimal, dimension=3)
    q = problem.draw(2_000, np.random.default_rng(0)).q
    assert q is not None

    for m, coefficients in enumerate(problem.coefficients):
        best = set(q[m].reshape(-1, k).argmax(axis=1)) if m else set(q[0].argmax(axis=1))
        assert set(np.flatnonzero(~arms.dominated(coefficients))) == best
        assert arms.dominated(coefficients).sum() == suboptimal


def test_forced_rounds_are_those_of_the_schedule_and_free_regret_leaves_them_out() -> None:
    setting, study = features.SETTINGS[features.RIGHT], study_of({DTRB: power(1.0, 1.0)}, HORIZON)

    forced = forced_rounds(HORIZON, setting)

    plans = Synthetic().design.arm_plans
    assert list(forced) == [forced_plan(t, plans, q=setting.policy.q) is not None for t in range(1, HORIZON + 1)]
    assert not free_regret(study, setting)[:, forced].any()
    assert np.allclose(free_regret(study, setting)[0, ~forced], 1.0)


# -- stages --------------------------------------------------------------------------------------------------


def three_stages(*curves: Curve) -> dict[str, dtr.Study]:
    first, *_ = studies = [study_of({DTRB: curve}, HORIZON) for curve in curves]
    regret = np.stack([study.stage_regret[DTRB][:, :, 0] for study in studies if study.stage_regret], axis=2)
    return {stages.THREE_STAGES: replace(first, stage_regret={DTRB: regret})}


@pytest.mark.parametrize(
    ("third", "failing"),
    [(logarithmic(10.0), []), (power(0.001, 1.0), [0]), (power(1.0, 0.5), [0]), (power(1.0, 1.0), [0, 1, 2])],
)
def test_three_stages_are_logarithmic_each(third: Curve, failing: list[int]) -> None:
    assert failures("stages", three_stages(logarithmic(20.0), logarithmic(5.0), third)) == failing


# -- margin --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exponents", "cost", "failing"),
    [
        ((0.25, 0.0, -0.5), 1.0, []),
        ((0.6, 0.0, -0.5), 1.0, [0]),
        ((0.25, 0.3, -0.5), 1.0, [1, 3]),
        ((0.25, 0.0, 0.05), 1.0, [2, 3, 4]),
        ((0.1, 0.1, -0.5), 1.0, [3]),
        ((0.25, 0.0, -0.5), 0.001, [4]),
    ],
)
def test_free_rounds_grow_as_the_margin_says(
    exponents: tuple[float, float, float], cost: float, failing: list[int]
) -> None:
    assert failures("margin", free_rounds(margin.SETTINGS, exponents, forced=cost)) == failing


@pytest.mark.parametrize("exponent", [0.25, 0.0, -0.5])
def test_the_exponent_of_a_power_is_found(exponent: float) -> None:
    (name, study), *_ = free_rounds(margin.SETTINGS, (exponent,) * 3).items()

    found = growth.growth_of_free(study, margin.SETTINGS[name])

    assert found.exponent == pytest.approx(exponent, abs=0.03)  # sums for integrals, without the forced rounds
    assert found.influence == pytest.approx(0.0)  # every path has the same shape


def test_the_exponent_s_standard_error_is_that_of_a_jackknife() -> None:
    (name, study), *_ = free_rounds(margin.SETTINGS, (0.25, 0.0, -0.5)).items()
    assert study.stage_regret is not None
    noise = np.random.default_rng(0).uniform(0.5, 1.5, (PATHS, HORIZON // 100, 1)).repeat(100, axis=1)
    noisy = replace(study, stage_regret={DTRB: study.stage_regret[DTRB] * noise})

    found = growth.growth_of_free(noisy, margin.SETTINGS[name])
    without = [
        growth.growth_of_free(noisy.take([other for other in noisy.paths if other != path]), margin.SETTINGS[name])
        for path in noisy.paths
    ]

    jackknife = np.sqrt((PATHS - 1) * np.var([each.exponent for each in without]))
    assert growth.standard_error(found.influence) == pytest.approx(jackknife, rel=0.05)


# -- one stage -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def embedded() -> dict[str, dtr.Study]:
    return {
        name: dtr.simulate(setting.environment, {DTRB: setting.policy}, horizon=3_000, paths=3, seed=7)
        for name, setting in one_stage.SETTINGS.items()
    }


def test_the_embedded_problem_has_the_regret_of_the_one_stage_problem(embedded: dict[str, dtr.Study]) -> None:
    assert set(failures("one_stage", embedded)) <= {3, 4}  # three paths say little about the rate


@pytest.mark.parametrize(("name", "place"), [(one_stage.EMBEDDED, 0), (one_stage.EMBEDDED_TWO_ARMS, 1)])
def test_one_arm_or_one_bit_of_regret_that_differs_is_noticed(
    embedded: dict[str, dtr.Study], name: str, place: int
) -> None:
    study = embedded[name]
    assert study.stage_regret is not None
    given, regret = study.arms[DTRB].copy(), study.stage_regret[DTRB].copy()
    given[1, 500, 0] ^= 1
    regret[2, 700, 0] = np.nextafter(regret[2, 700, 0], 1)

    for changed in (replace(study, arms={DTRB: given}), replace(study, stage_regret={DTRB: regret})):
        assert place in failures("one_stage", {**embedded, name: changed})


def test_regret_at_the_embedded_second_stage_and_another_rate_are_noticed(embedded: dict[str, dtr.Study]) -> None:
    study = embedded[one_stage.EMBEDDED]
    assert study.stage_regret is not None
    linear = study.stage_regret[DTRB] + [0.0, 0.1]

    assert failures("one_stage", {**embedded, one_stage.EMBEDDED: replace(study, stage_regret={DTRB: linear})}) == [
        2,
        3,
        4,
    ]


# -- features ------------------------------------------------------------------------------------------------

LEARNT: dict[str, Curve] = {
    features.RIGHT: logarithmic(20.0),
    features.TOO_MANY: logarithmic(30.0),
    features.NO_FIRST: power(features.LOSS_WITHOUT_FIRST, 1.0),
    features.NO_SECOND: power(features.LOSS_WITHOUT_SECOND, 1.0),
}


@pytest.mark.parametrize(
    ("changed", "failing"),
    [
        ({}, []),
        ({features.TOO_MANY: power(3.0, 0.55)}, [0, 1]),
        ({features.TOO_MANY: logarithmic(120.0)}, [2]),
        ({features.TOO_MANY: logarithmic(19.0)}, [2]),
        ({features.NO_FIRST: power(7.6, 0.5)}, [3, 5]),
        ({features.NO_SECOND: logarithmic(30.0)}, [4, 6]),
        ({features.NO_FIRST: power(0.15, 1.0)}, [5]),
        ({features.NO_SECOND: power(0.3, 1.0)}, [6]),
        ({features.NO_SECOND: power(0.45, 1.0)}, [6]),
    ],
)
def test_missing_features_cost_every_round_and_superfluous_ones_a_factor(
    changed: dict[str, Curve], failing: list[int]
) -> None:
    assert failures("features", by_hand({**LEARNT, **changed})) == failing


def test_what_missing_features_cost_is_what_one_arm_and_one_plan_lose() -> None:
    """By simulation: 200,000 units, so that means are good to 0.01 or better."""
    units = Synthetic().draw(200_000, np.random.default_rng(1))
    assert units.q is not None

    best = units.q[0].max(axis=1).mean()

    assert best - units.q[0].mean(axis=0).max() == pytest.approx(features.LOSS_WITHOUT_FIRST, abs=0.005)
    assert best - units.outcome.mean(axis=0).max() == pytest.approx(features.LOSS_WITHOUT_SECOND, abs=0.01)


# -- running them --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXTENSIONS)
def test_an_extension_writes_its_studies_picture_and_curves(tmp_path: Path, name: str) -> None:
    extension = EXTENSIONS[name]

    result = reproduce(extension, tmp_path, paths=2, horizon=200)

    assert [file.name for file in result.files] == [f"{name}.png", f"{name}.csv"]
    studies = {each: dtr.load_study(tmp_path / each.replace(" ", "-")) for each in extension.settings}
    assert result.claims == extension.claims(studies)
    if name in LOGARITHMIC:
        settings, place = LOGARITHMIC[name]
        assert result.claims[place] == growth.slower_than_root(studies, settings)
    assert [row["policy"] for row in result.table.records()] == list(extension.settings)
    curves = pd.read_csv(result.files[1])
    assert list(curves["setting"].unique()) == list(extension.settings)
    assert set(curves.columns) >= {"setting", "path", "t", "regret", "realised"}
    assert result.files[0].stat().st_size > 10_000
    same_units = list(extension.settings)[1:] if name in ("delay", "features") else []
    assert [each.policy for each in summary_of(studies).differences] == same_units
    assert "setting" in str(result.table)
    assert "policy" not in str(result.table)


def test_differences_between_settings_are_path_by_path() -> None:
    studies = by_hand({"one": logarithmic(10.0), "other": logarithmic(11.0)})
    ends = [study.total_regret(DTRB, [HORIZON])[:, 0] for study in studies.values()]

    (difference,) = summary_of(studies).differences

    assert difference.mean == pytest.approx(np.mean(ends[1] - ends[0]))
    assert difference.share_better == 0.0


def test_more_paths_extend_an_extension_and_another_seed_is_refused(tmp_path: Path) -> None:
    def run(paths: int, seed: int = 0) -> str:
        result = reproduce(EXTENSIONS["stages"], tmp_path, paths=paths, horizon=100, seed=seed)
        return json.dumps([result.table.records(), result.claims])

    two, three, again = run(2), run(3), run(2)

    assert two == again != three
    assert dtr.load_study(tmp_path / "three-stages").paths == (0, 1, 2)
    with pytest.raises(dtr.DesignError, match="holds another study: seed"):
        run(2, seed=1)


def test_margins_are_in_the_order_the_claims_take_them() -> None:
    alphas = list(margin.MARGINS.values())

    assert all(low < high for low, high in pairwise(alphas))
    assert alphas[0] < 1 == alphas[1] < alphas[2]
