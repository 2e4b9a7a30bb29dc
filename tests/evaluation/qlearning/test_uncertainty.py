"""Which interval a stage has, and that it covers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort.origin import Origin
from dtrbandit.evaluation.induction.induction import Sample, backward_induction
from dtrbandit.evaluation.qlearning.uncertainty import BestArms, Bootstrap, Uncertainty, best_arms
from evaluation.qlearning.crossing import CROSSING, crossing
from evaluation.qlearning.samples import smart

DIFFERENCE = np.array([[[-1.0, 0.0], [1.0, 0.0]]])


def of(sample: Sample, **how: object) -> Uncertainty:
    return Uncertainty(sample, backward_induction(sample), Bootstrap(**how))  # type: ignore[arg-type]  # parameters


def test_a_regular_stage_has_the_sandwich_and_another_the_bootstrap() -> None:
    regular, not_regular = (of(smart(200, psi, np.random.default_rng(1))) for psi in (5.0, 0.0))

    assert regular.intervals(0, DIFFERENCE).method == "sandwich"
    assert not_regular.intervals(0, DIFFERENCE).method == "m-out-of-n"
    last = np.zeros((1, 2, 4))
    last[0, :, 0] = -1.0, 1.0
    assert not_regular.intervals(1, last).method == "sandwich"


def test_the_sandwich_is_the_estimate_and_two_errors() -> None:
    found = of(smart(200, 5.0, np.random.default_rng(1))).intervals(0, DIFFERENCE).interval

    assert found.high - found.low == pytest.approx(2 * 1.959964 * found.std_error)
    assert (found.high + found.low) / 2 == pytest.approx(found.estimate)


def test_estimates_that_are_not_regular_have_an_interval_and_no_standard_error() -> None:
    known = of(smart(200, 0.0, np.random.default_rng(1)))

    found = known.intervals(0, DIFFERENCE).interval

    assert np.isnan(found.std_error).all()
    assert np.isfinite([found.low, found.high]).all()
    assert known.std_errors(0, DIFFERENCE) > 0  # the sandwich's own, for comparison


def test_the_bootstrap_depends_on_its_seed_alone() -> None:
    sample = smart(200, 0.0, np.random.default_rng(1))

    first, again, other = (of(sample, seed=seed).intervals(0, DIFFERENCE).interval for seed in (1, 1, 2))

    assert (first.low, first.high) == (again.low, again.high)
    assert first.low != other.low


def test_resamples_serve_all_combinations() -> None:
    uncertainty = of(smart(200, 0.0, np.random.default_rng(1)))

    arms = uncertainty.intervals(0, np.concatenate([DIFFERENCE, -DIFFERENCE])).interval

    assert arms.low[0] == pytest.approx(-arms.high[1])


def test_too_few_units_have_no_interval() -> None:
    found = of(smart(16, 0.0, np.random.default_rng(1))).intervals(0, DIFFERENCE)

    assert found.method == "none"
    assert np.isnan([found.interval.low, found.interval.high]).all()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"xi": -1}, "xi must be a finite number"),
        ({"resamples": 10}, "resamples"),
        ({"double": 1}, "double"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number other than 0"),
    ],
)
def test_strange_parameters_are_refused(how: dict[str, object], message: str) -> None:
    with pytest.raises(DesignError, match=message):
        Bootstrap(**how)  # type: ignore[arg-type]  # wrong on purpose


def test_an_arm_without_standard_errors_leaves_the_others_theirs() -> None:
    sample = smart(200, 5.0, np.random.default_rng(1))
    sample.rows[1][np.flatnonzero(sample.rows[1][:, 1])[1:], 1] = False  # one row for four features
    each = np.eye(8).reshape(8, 2, 4)

    found = of(sample).intervals(1, each).interval

    assert np.isfinite(found.std_error[:4]).all()
    assert np.isnan(found.std_error[4:]).all()
    assert np.isnan(of(sample).intervals(1, each[:1] - each[4:5]).interval.std_error).all()


def test_standard_errors_are_the_sum_of_squared_influences() -> None:
    known = of(smart(200, 5.0, np.random.default_rng(1)))

    errors = known.intervals(0, DIFFERENCE).interval.std_error

    own = np.einsum("lad,iad->il", DIFFERENCE, known.influences[0])
    assert errors == pytest.approx(np.sqrt((own**2).sum(axis=0)))


COHORT = crossing(300, seed=1)
FIT = dtr.QLearning(CROSSING).fit(COHORT)
FEATURES = np.where(np.isfinite(COHORT.features[1]), COHORT.features[1], 0.0)


def best(fit: dtr.QLearning, m: int = 1) -> BestArms:
    return best_arms(fit._known().uncertainty, m, np.nan_to_num(COHORT.features[m]), COHORT.feasible[m])


def test_an_arm_is_separated_where_every_effect_against_it_excludes_zero() -> None:
    found, units = best(FIT), np.flatnonzero(COHORT.entered[:, 1])[:40]

    states = set()
    for unit in units:
        history: dict[str, float | str] = {
            name: float(COHORT.contexts[m][name][unit]) for m, name in ((0, "x"), (1, "z"))
        }
        given = history | {"first": "ab"[COHORT.arms[unit, 0]]}
        arm = FIT.recommend("second", given)
        effects = FIT.effect("second", given, reference=arm)
        assert CROSSING.stages[1].arms[found.best[unit]] == arm
        assert found.separated[unit] == (effects["high"] < 0).all()
        states.add((bool(found.separated[unit]), len(effects)))

    assert states == {(True, 1), (True, 2), (False, 1), (False, 2)}  # c cannot follow b
    assert found.valid.all()


def test_nothing_is_separated_where_no_interval_is_valid() -> None:
    adaptive = replace(COHORT, origin=Origin("adaptive", "Greedy()"))

    found = best(dtr.QLearning(CROSSING).fit(adaptive))

    assert not found.valid[COHORT.entered[:, 1]].any()
    assert not found.separated[COHORT.entered[:, 1]].any()
    assert (found.best == best(FIT).best).all()


def test_without_a_feasible_arm_there_is_no_best_one() -> None:
    nothing = np.zeros((2, 3), dtype=np.bool_)

    found = best_arms(FIT._known().uncertainty, 1, np.ones((2, 3)), nothing)

    assert found.best.tolist() == [-1, -1]


def test_comparisons_are_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    from dtrbandit.evaluation.qlearning import uncertainty as module

    whole = best(FIT, 0)
    monkeypatch.setattr(module, "AT_A_TIME", 7)

    assert (best(FIT, 0).separated == whole.separated).all()
