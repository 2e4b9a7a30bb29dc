"""How the regret of free rounds grows: exponents that are known, and their standard errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dtrbandit.reproduce.extensions import arms, growth, margin
from dtrbandit.reproduce.extensions.extension import DTRB
from reproduce.curves import PATHS
from reproduce.extension_studies import HORIZON, LOGARITHMIC, free_rounds


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
