"""TrialCache: shared, kept while the log stands still, and fresh when it has grown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import dtrbandit as dtr
from extras import needed

for module in ("starlette", "jinja2", "uvicorn"):
    needed(module)

from dtrbandit.service.service import Service  # noqa: E402
from dtrbandit.trial import Trial  # noqa: E402
from dtrbandit.trial.ledger import Ledger  # noqa: E402
from dtrbandit.web.cache import FRESH, LASTING, TrialCache  # noqa: E402

DESIGN = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x", expected_days=1)])


class Hand:
    """The hand of a clock."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def with_trial(act: Callable[[Service, Trial, TrialCache, Hand], Awaitable[None]]) -> None:
    async def run() -> None:
        service, hand = Service("memory://"), Hand()
        await service.start()
        try:
            while not service.ready:
                await asyncio.sleep(0.01)
            trial = await service.create("pilot", DESIGN, dtr.DTRBandit(q=1, delta=1.0), actor="tester")
            await act(service, trial, TrialCache(service, clock=hand), hand)
        finally:
            await service.stop()

    asyncio.run(run())


def test_a_look_is_kept_until_the_log_has_grown_and_a_second_has_passed() -> None:
    seen: list[int] = []

    def find(ledger: Ledger, _: Trial) -> int:
        seen.append(ledger.version)
        return ledger.units

    async def act(_: Service, trial: Trial, cache: TrialCache, hand: Hand) -> None:
        assert await cache.get("pilot", "units", find) == 0
        trial.enroll("u1", {"x": 1.0})
        assert await cache.get("pilot", "units", find) == 0
        hand.now += FRESH
        assert await cache.get("pilot", "units", find) == 1
        hand.now += FRESH
        assert await cache.get("pilot", "units", find) == 1
        hand.now += LASTING
        assert await cache.get("pilot", "units", find) == 1

    with_trial(act)

    assert seen == [1, 3, 3]


def test_where_a_trial_stands_is_looked_up_once_a_second() -> None:
    async def act(_: Service, trial: Trial, cache: TrialCache, hand: Hand) -> None:
        states = [await cache.state("pilot")]
        trial.enroll("u1", {"x": 1.0})
        states.append(await cache.state("pilot"))
        hand.now += FRESH
        states.append(await cache.state("pilot"))
        trial.lock(actor="lead", reason="approved", paper_schedule=True)
        hand.now += FRESH
        states.append(await cache.state("pilot"))

        assert [(state.log, state.head.sequence) for state in states] == [
            ("rehearsal", 1),
            ("rehearsal", 1),
            ("rehearsal", 3),
            ("live", 1),
        ]

    with_trial(act)


def test_a_page_that_was_told_of_something_new_is_not_shown_an_older_look() -> None:
    async def act(_: Service, trial: Trial, cache: TrialCache, hand: Hand) -> None:
        await cache.state("pilot")
        hand.now = 0.6
        before = await cache.get("pilot", "units", lambda ledger, _: ledger.units)
        trial.enroll("u1", {"x": 1.0})
        hand.now = FRESH
        told = await cache.state("pilot")
        after = await cache.get("pilot", "units", lambda ledger, _: ledger.units)

        assert (before, told.head.sequence, after) == (0, 3, 1)

    with_trial(act)


def test_many_who_look_at_once_share_one_look() -> None:
    seen: list[int] = []

    async def act(_: Service, __: Trial, cache: TrialCache, ___: Hand) -> None:
        await asyncio.gather(
            *(cache.get("pilot", "x", lambda ledger, _: seen.append(ledger.version)) for _ in range(8))
        )

    with_trial(act)

    assert len(seen) == 1
