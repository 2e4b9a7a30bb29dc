"""Whether the best arm can be told from the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation.cohort.origin import Origin
from dtrbandit.evaluation.qlearning.told import Told, told_apart
from evaluation.qlearning.crossing import CROSSING, crossing

COHORT = crossing(300, seed=1)
FIT = dtr.QLearning(CROSSING).fit(COHORT)
FEATURES = np.where(np.isfinite(COHORT.features[1]), COHORT.features[1], 0.0)


def told(fit: dtr.QLearning, m: int = 1) -> Told:
    return told_apart(fit._known().uncertainty, m, np.nan_to_num(COHORT.features[m]), COHORT.feasible[m])


def test_an_arm_is_told_where_every_effect_against_it_excludes_zero() -> None:
    found, units = told(FIT), np.flatnonzero(COHORT.entered[:, 1])[:40]

    states = set()
    for unit in units:
        history: dict[str, float | str] = {
            name: float(COHORT.contexts[m][name][unit]) for m, name in ((0, "x"), (1, "z"))
        }
        given = history | {"first": "ab"[COHORT.arms[unit, 0]]}
        best = FIT.recommend("second", given)
        effects = FIT.effect("second", given, reference=best)
        assert CROSSING.stages[1].arms[found.best[unit]] == best
        assert found.sure[unit] == (effects["high"] < 0).all()
        states.add((bool(found.sure[unit]), len(effects)))

    assert states == {(True, 1), (True, 2), (False, 1), (False, 2)}  # c cannot follow b
    assert found.valid.all()


def test_there_is_no_telling_where_no_interval_is_valid() -> None:
    adaptive = replace(COHORT, origin=Origin("adaptive", "Greedy()"))

    found = told(dtr.QLearning(CROSSING).fit(adaptive))

    assert not found.valid[COHORT.entered[:, 1]].any()
    assert not found.sure[COHORT.entered[:, 1]].any()
    assert (found.best == told(FIT).best).all()


def test_without_a_feasible_arm_there_is_no_best_one() -> None:
    nothing = np.zeros((2, 3), dtype=np.bool_)

    found = told_apart(FIT._known().uncertainty, 1, np.ones((2, 3)), nothing)

    assert found.best.tolist() == [-1, -1]


def test_comparisons_are_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    from dtrbandit.evaluation.qlearning import told as module

    whole = told(FIT, 0)
    monkeypatch.setattr(module, "AT_A_TIME", 7)

    assert (told(FIT, 0).sure == whole.sure).all()
