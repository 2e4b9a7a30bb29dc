"""The embedded problem: one bit that differs from the one-stage problem is noticed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.reproduce.extensions import one_stage
from dtrbandit.reproduce.reproduction import DTRB
from reproduce.extension_studies import by_law, held, verdicts_on
from reproduce.impostors import AT_MOST, POWER_03, ROOT, Law


@pytest.fixture(scope="module")
def embedded() -> dict[str, dtr.Study]:
    return {
        name: dtr.simulate(setting.environment, {DTRB: setting.policy}, horizon=3_000, paths=3, seed=7)
        for name, setting in one_stage.SETTINGS.items()
    }


def test_the_embedded_problem_has_the_regret_of_the_one_stage_problem(embedded: dict[str, dtr.Study]) -> None:
    assert verdicts_on("one_stage", embedded)[:3] == "✓✓✓"
    assert "✗" not in verdicts_on("one_stage", embedded)  # three paths say nothing about the rate


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
        assert verdicts_on("one_stage", {**embedded, name: changed})[place] == "✗"


def test_regret_at_the_embedded_second_stage_is_noticed(embedded: dict[str, dtr.Study]) -> None:
    study = embedded[one_stage.EMBEDDED]
    assert study.stage_regret is not None
    dear = replace(study, stage_regret={DTRB: study.stage_regret[DTRB] + [0.0, 0.1]})

    assert verdicts_on("one_stage", {**embedded, one_stage.EMBEDDED: dear})[:3] == "✓✓✗"


@pytest.mark.full
@pytest.mark.parametrize(("law", "places"), [(ROOT, [3, 4, 5, 6]), (POWER_03, [4, 5])])
def test_no_claim_about_the_embedded_rate_holds_of_an_impostor(law: Law, places: list[int]) -> None:
    laws = dict.fromkeys(one_stage.SETTINGS, law)

    assert max(held("one_stage", lambda rng: by_law(laws, rng))[places]) <= AT_MOST
