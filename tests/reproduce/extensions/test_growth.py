"""How the regret of free rounds grows: exponents that are known, and impostors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dtrbandit.reproduce import Claim
from dtrbandit.reproduce.extensions import arms, features, growth, margin
from dtrbandit.reproduce.extensions.extension import DTRB
from reproduce.curves import study_with
from reproduce.extension_studies import HORIZON, LOGARITHMIC, free_rounds
from reproduce.impostors import AT_MOST, LINE, ROOT, Law, held, noisy


@pytest.mark.parametrize("name", LOGARITHMIC)
@pytest.mark.parametrize(("exponent", "mark"), [(0.0, "✓"), (0.4, "✓"), (0.6, "✗"), (1.0, "✗")])
def test_free_rounds_that_grow_too_fast_are_noticed_beside_forced_ones(name: str, exponent: float, mark: str) -> None:
    settings, _ = LOGARITHMIC[name]
    studies = free_rounds(settings, [exponent] * len(settings), free=0.01)

    assert growth.free_rounds_slower_than_root(studies, settings).verdict.mark == mark


@pytest.mark.full
@pytest.mark.parametrize("law", [ROOT, LINE])
def test_free_rounds_of_an_impostor_are_not_slower_than_root(law: Law) -> None:
    settings = {features.RIGHT: features.SETTINGS[features.RIGHT]}

    def claim(rng: np.random.Generator) -> Claim:
        studies = {features.RIGHT: study_with({DTRB: noisy(law, rng, horizon=2_000)})}
        return growth.free_rounds_slower_than_root(studies, settings)

    assert held(claim) <= AT_MOST


def test_regret_that_begins_late_grows_and_regret_that_ends_does_not() -> None:
    settings, _ = LOGARITHMIC["arms"]
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
        found[which] = set(growth.exponents(replace(study, stage_regret={DTRB: cut}), arms.SETTING))

    assert found == {"late": {np.inf}, "early": {-np.inf}, "never": {-np.inf}}


@pytest.mark.parametrize("exponent", [0.25, 0.0, -0.5])
def test_the_exponent_of_a_power_is_found(exponent: float) -> None:
    (name, study), *_ = free_rounds(margin.SETTINGS, (exponent,) * 3).items()

    found = growth.exponents(study, margin.SETTINGS[name])

    assert found == pytest.approx(exponent, abs=0.03)  # sums for integrals, without the forced rounds
    assert np.ptp(found) == pytest.approx(0.0)  # every path has the same shape
