"""Three stages: every claim can fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.reproduce.extensions import stages
from dtrbandit.reproduce.extensions.extension import DTRB
from reproduce.curves import Curve, logarithmic, power, study_of
from reproduce.extension_studies import HORIZON, failures


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
