"""The paper's claims: they hold where they should, and every one of them can fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.reproduce import FIGURES, reproduce
from dtrbandit.reproduce.claims import straight_in_log
from dtrbandit.reproduce.figure2 import DELTAS, named
from reproduce.curves import Curve, logarithmic, power, sometimes, study_of

STUCK, LEARNS = power(0.2, 1.0), logarithmic(5.0)
AS_IN_FIGURE_1: dict[str, Curve] = {
    "DTRB(5, 0.5)": logarithmic(20.0),
    "Greedy": sometimes(0.25, STUCK, LEARNS),
    "0.1-Greedy": power(0.1, 1.0),
    "LSVI-UCB": power(50.0, 0.3),
}
AS_IN_FIGURE_2: dict[str, Curve] = {
    "DTRB(3, 0.5)": logarithmic(15.0),
    "DTRB(10, 0.5)": logarithmic(30.0),
    **{named(*pair): logarithmic(24.0 - place) for place, pair in enumerate(DELTAS)},
}


def failures(figure: str, curves: dict[str, Curve]) -> list[int]:
    """Return the places of the claims that do not hold."""
    claims = FIGURES[figure].claims(study_of(curves))
    return [place for place, claim in enumerate(claims) if not claim.holds]


@pytest.mark.parametrize(("figure", "curves"), [("figure1", AS_IN_FIGURE_1), ("figure2", AS_IN_FIGURE_2)])
def test_claims_hold_of_curves_as_the_paper_describes_them(figure: str, curves: dict[str, Curve]) -> None:
    assert list(FIGURES[figure].policies) == list(curves) or figure == "figure2"
    assert set(FIGURES[figure].policies) == set(curves)
    assert failures(figure, curves) == []


@pytest.mark.parametrize(
    ("policy", "curve", "failing"),
    [
        ("DTRB(5, 0.5)", power(0.05, 1.0), [0, 1]),
        ("DTRB(5, 0.5)", power(2.0, 0.5), [0, 1]),
        ("Greedy", LEARNS, [2, 3, 4]),
        ("Greedy", STUCK, [3]),
        ("Greedy", power(2.0, 0.5), [2, 3, 4]),
        ("Greedy", sometimes(0.25, power(0.001, 1.0), power(2.0, 0.5)), [2, 4]),
        ("0.1-Greedy", logarithmic(100.0), [5]),
        ("0.1-Greedy", power(5.0, 0.5), [5]),
        ("LSVI-UCB", power(0.5, 1.0), [6]),
        ("LSVI-UCB", sometimes(0.5, power(0.5, 1.0), power(0.5, 0.8)), [6]),
        ("LSVI-UCB", power(11.0, 0.3), [7]),
    ],
)
def test_each_claim_of_figure_1_can_fail(policy: str, curve: Curve, failing: list[int]) -> None:
    assert failures("figure1", {**AS_IN_FIGURE_1, policy: curve}) == failing


@pytest.mark.parametrize(
    ("changed", "failing"),
    [
        ({"DTRB(5, 0.2)": power(2.4, 0.5)}, [0]),
        ({"DTRB(5, 1)": power(0.045, 1.0)}, [0]),
        ({"DTRB(10, 0.5)": logarithmic(60.0)}, [1]),
        ({"DTRB(3, 0.5)": logarithmic(21.5)}, [2]),
        ({"DTRB(10, 0.5)": logarithmic(20.0)}, [2]),
        ({"DTRB(10, 0.5)": sometimes(0.2, logarithmic(60.0), logarithmic(14.0))}, [2]),
        ({"DTRB(3, 0.5)": sometimes(0.3, logarithmic(90.0), logarithmic(15.0))}, [2]),
        ({"DTRB(5, 5)": logarithmic(25.0)}, [3]),
        ({"DTRB(5, 1)": logarithmic(22.0)}, [3]),
        ({"DTRB(5, 0.1)": sometimes(0.5, logarithmic(60.0), logarithmic(18.0))}, [3]),
    ],
)
def test_each_claim_of_figure_2_can_fail(changed: dict[str, Curve], failing: list[int]) -> None:
    assert failures("figure2", {**AS_IN_FIGURE_2, **changed}) == failing


@pytest.mark.parametrize(("exponent", "expected"), [(1.0, 0.764), (0.5, 0.922)])
def test_a_power_of_t_is_as_straight_in_log_t_as_the_integrals_say(exponent: float, expected: float) -> None:
    """With u = log t uniform on [−2 log 10, 0]: R² of e^(au) on u; at 100 whole rounds, to a hundredth."""
    assert straight_in_log(study_of({"it": power(1.0, exponent)}), "it") == pytest.approx(expected, abs=0.01)


# -- running them --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("figure", FIGURES)
def test_a_reproduction_writes_its_study_picture_and_curves(tmp_path: Path, figure: str) -> None:
    result = reproduce(FIGURES[figure], tmp_path, paths=3, horizon=300)

    assert [file.name for file in result.files] == [f"{figure}.png", f"{figure}.csv"]
    assert all(file.stat().st_size > 10_000 for file in result.files)
    assert [row["policy"] for row in result.table.records()] == list(FIGURES[figure].policies)
    assert result.holds == all(claim.holds for claim in result.claims)
    study = dtr.simulate(Synthetic(), FIGURES[figure].policies, horizon=300, paths=3)
    assert dtr.load_study(tmp_path) == study
    assert FIGURES[figure].claims(study) == result.claims


def test_more_paths_extend_a_reproduction_and_fewer_leave_it(tmp_path: Path) -> None:
    def run(paths: int) -> dtr.Study:
        reproduce(FIGURES["figure2"], tmp_path, paths=paths, horizon=200)
        return dtr.load_study(tmp_path)

    three, five, kept = run(3), run(5), run(2)

    assert five.take([0, 1, 2]) == three
    assert kept == five
    assert kept == dtr.simulate(Synthetic(), FIGURES["figure2"].policies, horizon=200, paths=5)


def test_another_study_in_the_folder_is_refused_before_anything_runs(tmp_path: Path) -> None:
    reproduce(FIGURES["figure2"], tmp_path, paths=2, horizon=200)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    for seed, horizon in ((1, 200), (0, 201)):
        with pytest.raises(dtr.DesignError, match=r"holds another study: (seed|horizon) is .*choose another folder"):
            reproduce(FIGURES["figure2"], tmp_path, paths=2, horizon=horizon, seed=seed)
    with pytest.raises(dtr.DesignError, match=r"holds another study: policies, .* there and missing here"):
        reproduce(FIGURES["figure1"], tmp_path, paths=2, horizon=200)

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert json.loads(before["manifest.json"])["seed"] == 0


@pytest.mark.parametrize(("paths", "horizon"), [(1, 200), (2, 99), (0, 200), (2, 0)])
def test_what_is_too_small_for_the_claims_is_refused(tmp_path: Path, paths: int, horizon: int) -> None:
    with pytest.raises(dtr.DesignError, match=r"(paths|horizon) (of at least|must be)"):
        reproduce(FIGURES["figure1"], tmp_path / "new", paths=paths, horizon=horizon)

    assert not (tmp_path / "new").exists()
