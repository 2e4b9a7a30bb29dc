"""The entries of Table 1 are the paper's, and LSVI-UCB with both treatments of leavers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.datasets.stard import COHORT_SEED
from dtrbandit.reproduce import Reproduction
from dtrbandit.reproduce.table1.versions import COMPUTED, DTRB, ENTRIES, ONLINE, PAPER, TEXT, Version
from reproduce.small_table1 import frame


@pytest.mark.slow
def test_the_table_has_the_papers_twelve_entries_and_both_treatments_of_leavers(small: Reproduction) -> None:
    table = frame(small)

    assert tuple(table.index) == ENTRIES
    assert set(table.index) - set(PAPER) == {"LSVI-UCB observed"}
    assert table["paper"].dropna().to_dict() == dict(PAPER)
    assert table["std_error"].isna().all()  # 12 paths are too few
    assert table["true_value"].isna().to_dict() == {name: name == "Logging" for name in ENTRIES}
    np.testing.assert_allclose(table["optimism"], table["cohorts_mean"] - table["true_value"])
    assert set(table["cohort"]) == {f"simulated, seed {COHORT_SEED}"}
    assert len(small.claims) == 5


def test_all_entries_but_the_two_benchmarks_are_online() -> None:
    assert set(ENTRIES) - set(ONLINE) == {"Logging", "Offline"}


def test_dtr_bandits_six_settings_are_named_after_their_parameters_and_halve_the_second_threshold() -> None:
    found = {name: (policy.q, policy.delta) for name, policy in COMPUTED.online.items() if name in DTRB}  # type: ignore[attr-defined]

    assert found == {f"DTRB({q}, {delta})": (q, (delta, delta / 2)) for q in (1, 2) for delta in (10, 20, 50)}


@pytest.mark.parametrize("version", [COMPUTED, TEXT], ids=["computed", "text"])
def test_only_the_treatment_of_leavers_tells_both_lsvi_ucb_apart(version: Version) -> None:
    paper, observed = version.online["LSVI-UCB"], version.online["LSVI-UCB observed"]

    assert isinstance(observed, dtr.LSVIUCB)
    assert paper == replace(observed, leavers="optimistic")
    assert observed.leavers == "observed"


def test_lsvi_ucb_sees_outcomes_on_a_unit_scale_as_published_and_their_own_units_by_the_text() -> None:
    computed, text = (each.online["LSVI-UCB"] for each in (COMPUTED, TEXT))

    assert isinstance(computed, dtr.LSVIUCB)
    assert isinstance(text, dtr.LSVIUCB)
    assert (computed.scale, computed.bound) == (13.0, ((1.0, 26.0, 10.0, 1.0),) * 2)
    assert (text.scale, text.bound) == (1.0, ((2.0, 52.0, 20.0, 2.0),) * 2)


def test_by_the_text_dtr_bandit_has_one_threshold_and_the_greedy_ones_are_the_same() -> None:
    assert list(COMPUTED.online) == list(TEXT.online) == list(ONLINE)
    assert all(len(set(TEXT.online[name].delta)) == 1 for name in DTRB)  # type: ignore[attr-defined]
    assert all(COMPUTED.online[name] == TEXT.online[name] for name in ("Greedy", "0.1-Greedy", "0.2-Greedy"))


def test_the_models_of_propensities_differ_in_end1_and_start2() -> None:
    computed, text = (each.propensity_model() for each in (COMPUTED, TEXT))

    assert computed.penalty == text.penalty == 1.0
    assert computed.staying is not None
    assert text.staying is not None
    assert "qids_end1" in computed.staying["second"]
    assert "qids_end1" not in text.staying["second"]
    assert computed.choice is not None
    assert text.choice is not None
    assert "qids_start2" not in str(computed.choice["second"])
    assert "qids_start2" in str(text.choice["second"])
