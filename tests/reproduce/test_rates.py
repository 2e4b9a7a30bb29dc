"""How fast regret grows: known laws, and impostors with the noise of real paths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.design.schedule import forced_plan
from dtrbandit.environments import Synthetic
from dtrbandit.kernels.arrays import Array
from dtrbandit.reproduce import Claim, Verdict
from dtrbandit.reproduce.extensions import arms, features, margin
from dtrbandit.reproduce.more_paths import doubling_rounds
from dtrbandit.reproduce.rates import (
    LINEAR,
    LOGARITHMIC,
    SLOWER_THAN_ROOT,
    SUBLINEAR,
    Doublings,
    doublings,
    doublings_of,
    exponents,
    forced_rounds,
    free_regret,
    free_rounds_slower_than_root,
    grows,
    grows_on_average,
    grows_typically,
    log_rounds,
    logarithmic,
    mean_ratio,
    typical_ratio,
)
from dtrbandit.reproduce.reproduction import DTRB
from reproduce.curves import logarithmic as logarithm
from reproduce.curves import power, sometimes, study_of, study_with
from reproduce.extension_studies import HORIZON, free_rounds
from reproduce.extension_studies import LOGARITHMIC as EXTENSIONS
from reproduce.impostors import AT_MOST, LATE_POWER_03, LATE_ROOT, LINE, LOGARITHM, POWER_03, ROOT, Law, held, noisy

BLOCK = 20


def of(rounds: Array) -> Doublings:
    """Return the curve of regret in each round, (paths, horizon)."""
    totals = np.cumsum(rounds, axis=1)
    return doublings_of(lambda at: totals[:, at - 1], rounds.shape[1], BLOCK)


def slower(own: Doublings) -> Claim:
    return logarithmic({"it": own}, slower="it is slower than √T", consistent="{regret}")[0]


def typically_logarithmic(own: Doublings) -> Claim:
    return logarithmic({"it": own}, slower="", consistent="{regret} is logarithmic")[1]


def logarithmic_on_average(own: Doublings) -> Claim:
    return logarithmic({"it": own}, slower="", consistent="{regret} is logarithmic")[2]


def slower_on_average(own: Doublings) -> Claim:
    return grows_on_average("", {"it": own}, SLOWER_THAN_ROOT)


def linear_on_average(own: Doublings) -> Claim:
    return grows_on_average("", {"it": own}, LINEAR)


def linear(own: Doublings) -> Claim:
    return grows_typically("", own, LINEAR)


def sublinear(own: Doublings) -> Claim:
    return grows_typically("", own, SUBLINEAR)


# -- known laws ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [0.3, 0.5, 1.0])
def test_a_power_has_its_ratio(exponent: float) -> None:
    own = doublings(study_of({"it": power(3.0, exponent)}), "it", block=BLOCK)

    assert typical_ratio(own)[:3] == pytest.approx((2**exponent,) * 3)
    assert mean_ratio(own).value == pytest.approx(2**exponent)
    assert mean_ratio(own).remark == "no interval: 40 paths, means need 1,000"


@pytest.mark.parametrize("cost", [0.0, 100.0])
def test_an_early_cost_changes_nothing(cost: float) -> None:
    def late(t: Array, path: int) -> Array:
        return cost * np.minimum(t, 1) + power(1.0, 0.5)(t, path)

    own = doublings(study_of({"it": late}), "it", block=BLOCK)

    assert typical_ratio(own)[:3] == pytest.approx((2**0.5,) * 3)


def test_the_last_doublings_are_in_step_with_the_schedule() -> None:
    assert doubling_rounds(10_240, 160) is not None
    for horizon, block in ((10_000, 20), (10_240, 160), (80, 20)):
        rounds = doubling_rounds(horizon, block)
        assert rounds is not None
        assert rounds[2] <= horizon < 2 * rounds[2]
        assert set(rounds[1:] / rounds[:-1]) == {2.0}
        assert np.log2(rounds[2] / block) % 1 == 0
    assert doubling_rounds(79, 20) is None
    short = typically_logarithmic(doublings_of(lambda at: np.ones((40, len(at))), 79, 20))
    assert short.verdict is Verdict.OPEN
    assert "79 rounds are fewer than four blocks of 20" in short.measured


def test_log_rounds_are_those_of_the_last_decades() -> None:
    assert (log_rounds(10_000)[0], log_rounds(10_000, decades=2)[0], log_rounds(10_000)[-1]) == (1_000, 100, 10_000)


def test_regret_that_begins_within_the_last_doubling_has_no_ratio_below_any_and_none_at_all_has_0() -> None:
    begins, stops = np.zeros((2, 40, 1_000))
    begins[:, 500:] = 1.0
    stops[:, :10] = 1.0

    assert typical_ratio(of(begins))[:3] == (np.inf,) * 3
    assert typical_ratio(of(stops))[:3] == (0.0,) * 3
    assert [slower(of(rounds)).verdict for rounds in (begins, stops)] == [Verdict.REFUTED, Verdict.HOLDS]


def test_laws_are_told_apart_without_noise() -> None:
    laws = {"log": logarithm(20.0), "t^0.3": power(9.0, 0.3), "√t": power(2.0, 0.55), "t": power(0.1, 1.0)}
    study = study_of(laws)
    claims = (slower, typically_logarithmic, linear, sublinear)

    told = {name: "".join(each(doublings(study, name, block=BLOCK)).verdict.mark for each in claims) for name in laws}

    assert told == {"log": "✓✓✗✓", "t^0.3": "✓✗✗✓", "√t": "✗✗✗✓", "t": "✗✗✓✗"}


def test_the_sentence_on_a_logarithm_is_said_of_a_typical_path_and_of_the_mean() -> None:
    own = doublings(study_of({"it": logarithm(20.0)}), "it", block=BLOCK)

    found = logarithmic({"it": own}, slower="it is slower than √T", consistent="With this {regret} is such")

    assert [claim.claim for claim in found] == [
        "On a typical path it is slower than √T",
        "With this regret on a typical path is such",
        "With this mean regret is such",
    ]
    assert [claim.allowed for claim in found] == [SLOWER_THAN_ROOT.allowed, *[LOGARITHMIC.allowed] * 2]


def test_the_highest_of_several_curves_is_shown_and_one_that_is_refuted_refutes() -> None:
    study = study_of({"a": logarithm(20.0), "b": power(2.0, 0.55), "c": sometimes(0.5, power(1, 0.3), power(1, 0.7))})
    curves = {name: doublings(study, name, block=BLOCK) for name in study.policies}

    claims = [grows("", {name: curves[name] for name in names}, SLOWER_THAN_ROOT) for names in ("a", "ab", "ac")]

    assert "".join(claim.verdict.mark for claim in claims) == "✓✗?"
    assert "costs 1.46 (1.46 to 1.46) times the one before (highest limit: b)" in claims[1].measured


# -- impostors -------------------------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize(
    ("claim", "law"),
    [
        (slower, ROOT),
        (slower, LATE_ROOT),
        (slower, LINE),
        (typically_logarithmic, POWER_03),
        (typically_logarithmic, LATE_POWER_03),
        (typically_logarithmic, ROOT),
        (linear, lambda t: t**0.85),
        (linear, LOGARITHM),
        (sublinear, LINE),
    ],
)
def test_no_claim_holds_of_an_impostor(claim: Callable[[Doublings], Claim], law: Law) -> None:
    assert held(lambda rng: claim(of(noisy(law, rng)))) <= AT_MOST


@pytest.mark.full
@pytest.mark.parametrize(
    ("claim", "law"),
    [
        (logarithmic_on_average, POWER_03),
        (logarithmic_on_average, ROOT),
        (slower_on_average, ROOT),
        (slower_on_average, LINE),
        (linear_on_average, LOGARITHM),
        (linear_on_average, lambda t: t**0.85),
    ],
)
def test_no_claim_about_means_holds_of_an_impostor(claim: Callable[[Doublings], Claim], law: Law) -> None:
    assert held(lambda rng: claim(of(noisy(law, rng, paths=1_000, horizon=160)))) <= AT_MOST


def test_claims_hold_of_what_they_say_in_most_runs() -> None:
    """Not only may they fail: a logarithm with the same noise is recognised in at least half of the runs."""
    assert held(lambda rng: slower(of(noisy(LOGARITHM, rng, horizon=1_000)))) >= 160
    assert held(lambda rng: typically_logarithmic(of(noisy(LOGARITHM, rng, paths=100, horizon=1_000)))) >= 100


@pytest.fixture(scope="module")
def real() -> dict[str, Array]:
    """Return the regret of impostors that really play, 400 paths of 640 rounds."""
    policies = {"0.1-Greedy": dtr.EpsilonGreedy(epsilon=0.1), "0.5-Greedy": dtr.EpsilonGreedy(epsilon=0.5)}
    study = dtr.simulate(Synthetic(), policies, horizon=640, paths=400, seed=3, n_jobs=1)
    assert study.stage_regret is not None
    return {name: regret.sum(axis=2) for name, regret in study.stage_regret.items()}


@pytest.mark.full
@pytest.mark.parametrize("claim", [slower, typically_logarithmic, sublinear])
@pytest.mark.parametrize("name", ["0.1-Greedy", "0.5-Greedy"])
def test_no_claim_holds_of_a_policy_that_never_stops_exploring(
    real: dict[str, Array], name: str, claim: Callable[[Doublings], Claim]
) -> None:
    """Each run has 40 of its 400 paths."""
    assert held(lambda rng: claim(of(real[name][rng.choice(400, 40)]))) <= AT_MOST


def test_a_policy_that_never_stops_exploring_is_linear_in_most_runs(real: dict[str, Array]) -> None:
    """The noise of real paths is less than that of the curves by hand."""
    assert held(lambda rng: linear(of(real["0.5-Greedy"][rng.choice(400, 40)]))) >= 100


def test_that_most_paths_learn_is_said_of_a_typical_path_and_not_of_the_mean() -> None:
    """A quarter of the paths never learns, as with Greedy. What holds typically must not read as if it held always."""
    study = study_of({"it": sometimes(0.25, power(0.2, 1.0), logarithm(5.0))})
    own = doublings(study, "it", block=BLOCK)

    found = slower(own)

    assert found.holds
    assert found.claim.startswith("On a typical path ")
    assert held(lambda rng: logarithmic_on_average(own._replace(totals=own.totals[rng.choice(40, 1_000)]))) == 0


def test_forced_rounds_are_those_of_the_schedule_and_free_regret_leaves_them_out() -> None:
    setting, study = features.SETTINGS[features.RIGHT], study_of({DTRB: power(1.0, 1.0)}, HORIZON)

    forced = forced_rounds(HORIZON, setting)

    plans = Synthetic().design.arm_plans
    assert list(forced) == [forced_plan(t, plans, q=setting.policy.q) is not None for t in range(1, HORIZON + 1)]
    assert not free_regret(study, setting)[:, forced].any()
    assert np.allclose(free_regret(study, setting)[0, ~forced], 1.0)


@pytest.mark.parametrize("name", EXTENSIONS)
@pytest.mark.parametrize(("exponent", "mark"), [(0.0, "✓"), (0.4, "✓"), (0.6, "✗"), (1.0, "✗")])
def test_free_rounds_that_grow_too_fast_are_noticed_beside_forced_ones(name: str, exponent: float, mark: str) -> None:
    settings, _ = EXTENSIONS[name]
    studies = free_rounds(settings, [exponent] * len(settings), free=0.01)

    assert free_rounds_slower_than_root(studies, settings).verdict.mark == mark


@pytest.mark.full
@pytest.mark.parametrize("law", [ROOT, LINE])
def test_free_rounds_of_an_impostor_are_not_slower_than_root(law: Law) -> None:
    settings = {features.RIGHT: features.SETTINGS[features.RIGHT]}

    def claim(rng: np.random.Generator) -> Claim:
        studies = {features.RIGHT: study_with({DTRB: noisy(law, rng, horizon=2_000)})}
        return free_rounds_slower_than_root(studies, settings)

    assert held(claim) <= AT_MOST


def test_regret_that_begins_late_grows_and_regret_that_ends_does_not() -> None:
    settings, _ = EXTENSIONS["arms"]
    (study,) = free_rounds(settings, [0.0]).values()
    assert study.stage_regret is not None
    regret, tenth = study.stage_regret[DTRB], HORIZON // 10

    found = {}
    for which, span in (
        ("late", slice(0, tenth)),
        ("early", slice(tenth, HORIZON)),
        ("never", slice(0, HORIZON)),
    ):
        cut = regret.copy()
        cut[:, span] = 0.0
        found[which] = set(exponents(replace(study, stage_regret={DTRB: cut}), arms.SETTING))

    assert found == {"late": {np.inf}, "early": {-np.inf}, "never": {-np.inf}}


@pytest.mark.parametrize("exponent", [0.25, 0.0, -0.5])
def test_the_exponent_of_a_power_is_found(exponent: float) -> None:
    (name, study), *_ = free_rounds(margin.SETTINGS, (exponent,) * 3).items()

    found = exponents(study, margin.SETTINGS[name])

    assert found == pytest.approx(exponent, abs=0.03)  # sums for integrals, without the forced rounds
    assert np.ptp(found) == pytest.approx(0.0)  # every path has the same shape
