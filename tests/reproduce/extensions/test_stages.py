"""Three stages: every claim can fail, and holds of no impostor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.reproduce.extensions import stages
from dtrbandit.reproduce.reproduction import DTRB
from reproduce.curves import RegretCurve, logarithmic, power, study_of, study_with
from reproduce.extension_studies import HORIZON, held, verdicts_on
from reproduce.impostors import AT_MOST, LOGARITHM, POWER_03, ROOT, Law, noisy


def three_stages(*curves: RegretCurve) -> dict[str, dtr.Study]:
    first, *_ = studies = [study_of({DTRB: curve}, HORIZON) for curve in curves]
    regret = np.stack([study.stage_regret[DTRB][:, :, 0] for study in studies if study.stage_regret], axis=2)
    return {stages.THREE_STAGES: replace(first, stage_regret={DTRB: regret})}


@pytest.mark.parametrize(
    ("third", "verdicts"),
    [
        (logarithmic(10.0), "✓✓?✓"),
        (power(0.001, 1.0), "✗✗?✓"),
        (power(1.0, 0.55), "✗✗?✓"),
        (power(5.0, 0.35), "✓✗?✓"),
        (power(1.0, 1.0), "✗✗?✗"),
    ],
)
def test_three_stages_are_logarithmic_each(third: RegretCurve, verdicts: str) -> None:
    assert verdicts_on("stages", three_stages(logarithmic(20.0), logarithmic(5.0), third)) == verdicts


@pytest.mark.full
@pytest.mark.parametrize(("law", "places"), [(ROOT, [0, 1, 2, 3]), (POWER_03, [1, 2])])
def test_no_claim_about_stages_holds_of_an_impostor(law: Law, places: list[int]) -> None:
    """The third stage is the impostor; for free rounds, of which all stages are, the others cost next to nothing."""

    def studies(rng: np.random.Generator) -> dict[str, dtr.Study]:
        laws: list[Law] = [lambda t: 0.01 * LOGARITHM(t), lambda t: 0.01 * LOGARITHM(t), law]
        regret = np.stack([noisy(own, rng, horizon=5_120) for own in laws], axis=2)
        study = study_with({DTRB: regret[:, :, 0]})
        return {stages.THREE_STAGES: replace(study, stage_regret={DTRB: regret})}

    assert max(held("stages", studies)[places]) <= AT_MOST
