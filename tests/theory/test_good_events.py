"""How often the good events of the proofs happen, beside their bounds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit import theory
from dtrbandit.courses import Courses, play, potential_courses
from dtrbandit.design.schedule import forced_plan
from dtrbandit.environments import ArrivalProcess, Exponential, Fixed, Linear, LogNormal, Synthetic
from dtrbandit.theory.good_events import Simulation, event_bound, failures, states, wilson
from dtrbandit.theory.instance import Instance
from theory.cases import Curved, Quiet


def test_the_table_has_a_row_per_event_stage_and_round() -> None:
    arrivals = ArrivalProcess(response=Exponential(5.0))

    rates = theory.event_rates(Synthetic(), q=2, delta=0.2, at=[300, 50], paths=6, arrivals=arrivals)
    frame = rates.to_frame()

    assert len(frame) == 2 * 6
    assert list(frame.columns[:3]) == ["event", "stage", "t"]
    assert frame.groupby("event")["t"].apply(list)["O"] == [50, 300]
    assert ((frame["low"] <= frame["failed"]) & (frame["failed"] <= frame["high"])).all()
    assert frame["bound"].notna().all()
    assert not any(row.refuted for row in rates.rows)
    assert [row.applies for row in rates.rows if row.event != "O"] == [False] * 10  # q is far below C̃₁ ∨ C̃₂
    assert "their bounds ask for q ≥" in str(rates)


def test_bounds_apply_from_the_rounds_on_that_they_ask_for() -> None:
    """q = 200 is above C̃₁ ∨ C̃₂ of the quiet problem; the forced block 2¹⁴ − 1 ends with round 2¹⁴·4·200."""
    q, end = 200, 2**14 * 800
    instance = Instance.of(Quiet(), np.random.default_rng(0), delta=0.3)
    simulation = Simulation(Quiet(), dtr.DTRBandit(q=q, delta=0.3), (end,), None, instance)

    def applies(event: str, t: int, q: int = q) -> bool:
        return event_bound(simulation._replace(policy=dtr.DTRBandit(q=q, delta=0.3)), (event, 0), t)[1]

    assert [applies("G", 64 * q**2 + shift) for shift in (-1, 0)] == [False, True]
    assert [applies("M", 256 * q**2 + shift) for shift in (-1, 0)] == [False, True]
    assert [applies("M", end + shift) for shift in (-1, 0, 1)] == [False, True, True]
    assert not applies("G", 64 * q**2, q=100)
    assert event_bound(simulation, ("G", 0), 100)[0] == 8 / 100**2


def test_with_delays_only_the_bound_on_feedback_applies() -> None:
    """The paper has P(𝒢ᶜ) and P(ℳᶜ) under delay up to constants only."""
    q, t = 200, 256 * 200**2
    instance = Instance.of(Quiet(), np.random.default_rng(0), delta=0.3)
    at_once = Simulation(Quiet(), dtr.DTRBandit(q=q, delta=0.3), (t,), None, instance)
    late = at_once._replace(arrivals=ArrivalProcess(response=Exponential(5.0)))

    assert [event_bound(at_once, (event, 0), t)[1] for event in "GML"] == [True] * 3
    assert [event_bound(late, (event, 0), t)[1] for event in "GMLO"] == [False, False, False, True]


def test_good_events_become_likelier() -> None:
    """From 30 to 3000 rounds ℒ fails less often: with 12 paths at least a third less."""
    rates = theory.event_rates(Synthetic(), q=10, delta=(0.3, 0.8), at=[30, 3000], paths=12, seed=2)

    early, late = (row.failed for row in rates.rows if row.event == "L")

    assert late < early - 1 / 3


def test_more_arms_and_stages_have_events_without_bounds() -> None:
    rates = theory.event_rates(Linear(stages=3, arms=3, suboptimal=1), q=1, delta=0.3, at=[200], paths=2)

    assert [(row.event, row.stage) for row in rates.rows] == [
        *(("G", f"stage{m}") for m in (1, 2, 3)), *(("M", f"stage{m}") for m in (1, 2, 3)), ("L", None),
    ]  # fmt: skip
    assert all(row.bound is None and not row.refuted for row in rates.rows)


def test_heavy_tailed_delays_have_no_bound() -> None:
    arrivals = ArrivalProcess(response=LogNormal(5.0, 1.0))

    rates = theory.event_rates(Synthetic(), q=1, delta=0.2, at=[50], paths=2, arrivals=arrivals)

    assert [row.bound for row in rates.rows if row.event == "O"] == [None]


def test_without_linear_q_functions_there_is_nothing_to_compare_with() -> None:
    with pytest.raises(dtr.DesignError, match=r"the Q-functions of Curved\(\) are not linear"):
        theory.event_rates(Curved(), q=1, delta=0.2, at=[10])


def test_the_interval_is_wilsons() -> None:
    """Its ends solve (p̂ − p)² = z²·p(1 − p)/n."""
    z = 1.959963984540054

    for failed, n in ((0, 20), (3, 20), (20, 20)):
        for p in wilson(failed, n):
            assert (failed / n - p) ** 2 == pytest.approx(z**2 * p * (1 - p) / n, abs=1e-12)
    assert wilson(0, 20)[0] == 0.0
    assert math.isclose(wilson(20, 20)[1], 1.0)


@pytest.mark.parametrize(
    ("at", "found"), [([], "at least one round"), ([1], "at must be a whole number of at least 2")]
)
def test_impossible_rounds_are_refused(at: list[int], found: str) -> None:
    with pytest.raises(dtr.DesignError, match=found):
        theory.event_rates(Synthetic(), q=1, delta=0.2, at=at)


Q, DELTA, ROUNDS = 4, (1.6, 1.2), (60, 200, 500)
TRUTH = [np.array([[17 / 12, 239 / 240], [25 / 12, -209 / 240]]), np.array([[1.0, 1.0], [0.0, 3.0]])]


def plain_failures(seed: np.random.SeedSequence, instance: Instance) -> list[list[bool]]:
    """Return which of 𝒢₁, 𝒢₂, ℳ₁, ℳ₂, ℒ fail, by regressions written out from the paper's section 3.1."""
    units_seed, _, policy_seed = seed.spawn(3)
    units = Synthetic().draw(ROUNDS[-1] + 1, np.random.default_rng(units_seed))
    policy = dtr.DTRBandit(q=Q, delta=DELTA)
    arms = play(policy, potential_courses(units), units.design, seed=int(policy_seed.generate_state(1)[0])).arms
    rows, one = np.arange(len(arms)), np.ones(len(arms))
    psi = [
        np.column_stack([one, units.contexts[0]["x1"]]),
        np.column_stack([one, units.contexts[1]["x2"][rows, arms[:, 0]]]),
    ]
    outcome = units.outcome[rows, arms[:, 0], arms[:, 1]]
    forced = np.array([forced_plan(t, units.design.arm_plans, q=Q) is not None for t in range(1, len(rows) + 1)])
    found = []
    for t in ROUNDS:
        tilde, hat = (_two_stages(psi, arms, outcome, (rows < t) & own) for own in (forced, rows >= 0))
        ends = np.array([[1.0, 0.0], [1.0, 1.0]])  # x ∈ [0, 1]: the supremum is at an end
        good = [np.abs(ends @ (tilde[m] - TRUTH[m]).T).max() <= DELTA[m] / 4 for m in (0, 1)]
        large = [
            min(np.linalg.eigvalsh(own.T @ own)[0] for a in (0, 1) for own in [psi[m][(rows < t) & (arms[:, m] == a)]])
            >= instance.diversity.phi[m] * t / 4
            for m in (0, 1)
        ]
        close = np.linalg.norm(hat[1] - TRUTH[1], axis=1).max() <= DELTA[1] / (2 * instance.x_max)
        found.append([not holds for holds in (*good, *large, bool(close))])
    return found


def _two_stages(psi: list[np.ndarray], arms: np.ndarray, outcome: np.ndarray, used: np.ndarray) -> list[np.ndarray]:
    second = np.stack([_least_squares(psi[1], outcome, used & (arms[:, 1] == a)) for a in (0, 1)])
    pseudo = (psi[1] @ second.T).max(axis=1)
    return [np.stack([_least_squares(psi[0], pseudo, used & (arms[:, 0] == a)) for a in (0, 1)]), second]


def _least_squares(psi: np.ndarray, target: np.ndarray, used: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.lstsq(psi[used], target[used], rcond=None)[0])


def test_events_are_those_of_plain_least_squares() -> None:
    rng = np.random.default_rng(0)
    instance = Instance.of(Synthetic(), rng, delta=(0.3, 0.3))
    # Δ of the events is that of the constants; φ is a number like any other here
    instance = replace(instance, diversity=replace(instance.diversity, delta=DELTA))
    simulation = Simulation(Synthetic(), dtr.DTRBandit(q=Q, delta=DELTA), ROUNDS, None, instance)
    seeds = np.random.SeedSequence(1).spawn(12)

    counted = np.array([failures(simulation, seed).tolist() for seed in seeds])

    expected = np.array(
        [plain_failures(np.random.SeedSequence(1, spawn_key=seed.spawn_key), instance) for seed in seeds]
    )
    assert (counted == expected).all()
    assert 0 < counted[:, :, :2].mean() < 1  # both happen
    assert 0 < counted[:, :, 4].mean() < 1


def test_a_round_is_looked_at_before_the_next_unit_enrols() -> None:
    """With delays of exactly 2½ arrivals, the second context of the last two rounds is not in yet."""
    instance, rounds = Instance.of(Synthetic(), np.random.default_rng(0), delta=0.3, units=100), (7, 8, 20)
    simulation = Simulation(Synthetic(), dtr.DTRBandit(q=1, delta=0.3), rounds, None, instance)
    drawn = Synthetic().draw(21, np.random.default_rng(0))
    late = ArrivalProcess(between=Fixed(1.0), response=Fixed(2.5)).events(21, 2, np.random.default_rng(0))

    def rows(units: Courses) -> list[int]:
        """Return how many rows count at the second stage: the sum of squares of the intercept, over both arms."""
        factors = [estimates.hat_factors[1] for _, estimates in states(simulation, units, seed=0)]
        return [round(sum(float(own[:, 0] @ own[:, 0]) for own in arms)) for arms in factors]

    assert rows(potential_courses(drawn)) == list(rounds)
    assert rows(potential_courses(drawn, events=late)) == [t - 2 for t in rounds]
