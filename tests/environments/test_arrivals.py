"""When units come. Bands are five standard errors, with fixed seeds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.courses import at_once, play, potential_courses
from dtrbandit.environments import (
    ArrivalProcess,
    Duration,
    Exponential,
    Fixed,
    Gamma,
    LogNormal,
    Synthetic,
)
from dtrbandit.errors import DesignError

UNITS = 50_000
BAND = 5.0

DURATIONS: list[Duration] = [Fixed(0.0), Fixed(0.1), Fixed(2.0), Exponential(1.0), Gamma(3.0, 2.0), LogNormal(1.0, 2.0)]
durations = st.sampled_from(DURATIONS)


@st.composite
def processes(draw: st.DrawFn) -> tuple[ArrivalProcess, int, int, int]:
    """Return a process, with n, the number of stages, and a seed."""
    stages = draw(st.integers(1, 4))
    process = ArrivalProcess(
        between=draw(durations),
        response=tuple(draw(durations) for _ in range(stages - 1)),
        outcome=draw(durations),
        dropout=draw(st.sampled_from([0.0, 0.3, 1.0])),
    )
    return process, draw(st.integers(0, 30)), stages, draw(st.integers(0, 1000))


def of_unit(events: NDArray[np.int32], unit: int) -> list[int]:
    return [int(what) for what, who in events if who == unit]


@given(processes())
def test_every_unit_goes_through_its_stages_in_order_to_its_outcome_or_loss(
    case: tuple[ArrivalProcess, int, int, int],
) -> None:
    process, n, stages, seed = case

    events = process.events(n, stages, np.random.default_rng(seed))

    assert events.dtype == np.int32
    assert events.shape[1] == 2
    for unit in range(n):
        *before, last = of_unit(events, unit)
        assert before == list(range(len(before)))
        assert last == stages + 1 or (last == len(before) == stages)


@given(processes())
def test_units_are_numbered_as_they_enrol_and_events_are_in_the_order_of_time(
    case: tuple[ArrivalProcess, int, int, int],
) -> None:
    process, n, stages, seed = case

    events = process.events(n, stages, np.random.default_rng(seed))
    times, lost = process.draw(n, stages, np.random.default_rng(seed))

    assert [unit for what, unit in events.tolist() if what == 0] == list(range(n))
    when = np.array([times[unit, lost[unit] if what == stages + 1 else what] for what, unit in events.tolist()])
    assert (when[1:] >= when[:-1] * (1 - 1e-8)).all()
    assert len(events) == np.minimum(lost, stages).sum() + n


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("between", [Fixed(0.0), Fixed(0.1), Exponential(1.0)], ids=repr)
def test_without_delay_each_unit_is_through_before_the_next_comes(between: Duration, stages: int) -> None:
    process = ArrivalProcess(between=between)

    events = process.events(100, stages, np.random.default_rng(0))

    np.testing.assert_array_equal(events, at_once(100, stages))
    assert events.dtype == at_once(100, stages).dtype


def test_at_the_same_time_those_in_the_trial_go_on_before_a_new_one_enrols() -> None:
    process = ArrivalProcess(between=Fixed(0.1), response=Fixed(0.3), outcome=Fixed(0.7))  # no sum of them is exact

    events = process.events(5000, 2, np.random.default_rng(0))

    expected = sorted((unit + delay, unit, what) for unit in range(5000) for what, delay in enumerate((0, 3, 10)))
    np.testing.assert_array_equal(events, [(what, unit) for _, unit, what in expected])


def test_times_have_the_means_of_their_laws() -> None:
    process = ArrivalProcess(
        between=Gamma(2.0, 3.0), response=(Exponential(5.0), LogNormal(3.0, 0.5)), outcome=Exponential(1.0)
    )

    times, lost = process.draw(UNITS, 3, np.random.default_rng(1))

    waits = np.column_stack([np.diff(times[:, 0], prepend=0.0), np.diff(times, axis=1)])
    off = np.abs(waits.mean(axis=0) - [2.0, 5.0, 3.0, 1.0])
    assert (off <= BAND * waits.std(axis=0) / np.sqrt(UNITS)).all()
    assert (lost == 4).all()
    assert process.mean_delay(stages=3) == pytest.approx((5 + 3 + 1) / 2)


def test_poisson_arrivals_come_in_poisson_numbers() -> None:
    times, _ = ArrivalProcess(between=Exponential(0.5)).draw(UNITS, 1, np.random.default_rng(2))

    counts = np.bincount(times[:, 0].astype(int))[: UNITS // 2 - 1000]  # the last days are cut off

    n = len(counts)
    assert abs(counts.mean() - 2) <= BAND * np.sqrt(2 / n)
    assert abs(counts.var() - 2) <= BAND * np.sqrt((2 * 2**2 + 2) / n)
    assert abs((counts == 0).mean() - math.exp(-2)) <= BAND * np.sqrt(math.exp(-2) / n)


def test_mean_delay_is_how_many_units_enrol_in_the_meantime() -> None:
    process = ArrivalProcess(response=Exponential(20.0), outcome=Exponential(10.0))
    events = process.events(UNITS, 2, np.random.default_rng(3)).tolist()

    enrolled, at_enrolment, meantime = 0, {}, []
    for what, unit in events:
        if what == 0:
            enrolled, at_enrolment[unit] = enrolled + 1, enrolled + 1
        elif what == 2 and unit < UNITS - 1000:
            meantime.append(enrolled - at_enrolment[unit])

    assert process.mean_delay(stages=2) == 30.0
    # Neighbours share most of their meantime, about 30 of them: so many fewer independent ones.
    assert np.mean(meantime) == pytest.approx(30.0, abs=BAND * np.std(meantime) / np.sqrt(UNITS / 30))


def test_units_are_lost_with_the_given_probability_at_each_step() -> None:
    dropout = (0.1, 0.0, 0.5)
    events = ArrivalProcess(dropout=dropout).events(UNITS, 3, np.random.default_rng(4))

    _, lost = ArrivalProcess(dropout=dropout).draw(UNITS, 3, np.random.default_rng(4))

    for step, probability in enumerate(dropout, 1):
        reached = (lost >= step).sum()
        band = BAND * np.sqrt(probability * (1 - probability) / reached)
        assert abs((lost == step).sum() / reached - probability) <= band
    whats = np.bincount(events[:, 0])
    assert whats[4] == (lost <= 3).sum()
    assert whats[3] + whats[4] == UNITS


def test_a_policy_plays_a_delayed_trial() -> None:
    process = ArrivalProcess(response=Exponential(5.0), outcome=Gamma(2.0, 2.0), dropout=0.2)
    units, events = Synthetic().draw(300, np.random.default_rng(0)), process.events(300, 2, np.random.default_rng(5))

    arms = play(dtr.DTRBandit(q=1, delta=0.5), potential_courses(units, events=events), units.design).arms

    treated_twice = {unit for what, unit in events.tolist() if what == 1}
    assert (arms[:, 0] >= 0).all()
    assert set(np.flatnonzero(arms[:, 1] >= 0).tolist()) == treated_twice


def test_tails_are_those_of_all_times() -> None:
    heavy, light = LogNormal(1.0, 1.0), Exponential(1.0)

    assert ArrivalProcess(response=(light, light), outcome=light).sub_exponential
    assert not ArrivalProcess(between=heavy).sub_exponential
    assert not ArrivalProcess(response=(light, heavy)).sub_exponential
    assert not ArrivalProcess(outcome=heavy).sub_exponential


def test_a_delay_between_units_that_all_come_at_once_is_infinitely_long() -> None:
    assert ArrivalProcess(between=Fixed(0.0), outcome=Fixed(1.0)).mean_delay(stages=2) == math.inf
    assert ArrivalProcess(between=Fixed(0.0)).mean_delay(stages=2) == 0.0


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"between": 1.0}, r"between must be a duration like Exponential\(mean=1.0\) or Fixed\(0.0\), found 1.0"),
        ({"between": Fixed}, "between must be a duration"),
        ({"response": (Fixed(1.0), 2)}, r"response\[1\] must be a duration"),
        ({"outcome": None}, "outcome must be a duration"),
        ({"dropout": 1.5}, "dropout must be a finite number from 0 to 1, found 1.5"),
        ({"dropout": (0.1, -0.1)}, r"dropout\[1\]"),
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(DesignError, match=words):
        ArrivalProcess(**parameters)


@pytest.mark.parametrize(
    ("process", "stages", "words"),
    [
        (ArrivalProcess(response=(Fixed(1.0),)), 3, "response must be one value or 2, found 1"),
        (ArrivalProcess(dropout=(0.1,)), 2, "dropout must be one value or 2, found 1"),
        (ArrivalProcess(), 0, "stages must be a whole number of at least 1, found 0"),
    ],
)
def test_parameters_that_do_not_fit_the_stages_are_refused(process: ArrivalProcess, stages: int, words: str) -> None:
    with pytest.raises(DesignError, match=words):
        process.events(5, stages, np.random.default_rng(0))


# -- laws of times: means within five standard errors, distributions within Kolmogorov's band ----------------------


DRAWS = 100_000
LAWS: list[tuple[Duration, Callable[[float], float]]] = [
    (Exponential(mean=2.0), lambda x: 1 - math.exp(-x / 2)),
    (Gamma(mean=3.0, shape=1.0), lambda x: 1 - math.exp(-x / 3)),
    (Gamma(mean=3.0, shape=2.0), lambda x: 1 - (1 + 2 * x / 3) * math.exp(-2 * x / 3)),
    (LogNormal(mean=2.0, sigma=0.8), lambda x: 0.5 + 0.5 * math.erf((math.log(x / 2) + 0.32) / (0.8 * math.sqrt(2)))),
]


@pytest.mark.parametrize(("law", "below"), LAWS, ids=lambda each: repr(each) if hasattr(each, "mean") else "law")
def test_times_have_their_mean_and_distribution(law: Duration, below: Callable[[float], float]) -> None:
    times = np.sort(law.draw(DRAWS, np.random.default_rng(1)))

    furthest = max(abs(below(float(times[i])) - (i + 0.5) / DRAWS) for i in range(0, DRAWS, 100))

    assert abs(times.mean() - law.mean) <= 5 * times.std() / np.sqrt(DRAWS)
    assert furthest <= 1.95 / np.sqrt(DRAWS)  # exceeded by one true law in a thousand
    assert times.min() >= 0


def test_a_fixed_time_is_always_the_same() -> None:
    np.testing.assert_array_equal(Fixed(1.5).draw((2, 3), np.random.default_rng(0)), np.full((2, 3), 1.5))


def test_only_log_normal_times_have_heavy_tails() -> None:
    assert [law.sub_exponential for law in (Fixed(0.0), Exponential(1.0), Gamma(1.0, 2.0), LogNormal(1.0, 1.0))] == [
        True, True, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: Fixed(-1.0), "Fixed: mean must be a finite number of at least 0"),
        (lambda: Fixed(math.nan), "Fixed: mean"),
        (lambda: Exponential(0.0), "Exponential: mean must be a finite number above 0"),
        (lambda: Gamma(1.0, shape=0.0), "Gamma: shape must be a finite number above 0"),
        (lambda: Gamma(math.inf, shape=1.0), "Gamma: mean"),
        (lambda: LogNormal(1.0, sigma=-1.0), "LogNormal: sigma must be a finite number above 0"),
        (lambda: LogNormal(0.0, sigma=1.0), "LogNormal: mean"),
    ],
)
def test_impossible_times_are_refused(wrong: Callable[[], Duration], words: str) -> None:
    with pytest.raises(DesignError, match=words):
        wrong()
