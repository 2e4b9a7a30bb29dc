"""Wrong keys are limited by address, and a valid one always opens."""

from __future__ import annotations

import pytest

from dtrbandit.service import wrong_keys
from dtrbandit.service.problems import Refused
from dtrbandit.service.wrong_keys import MOST_WRONG, WrongKeys, address_of, names_a_key
from serving.served import Served


class Clock:
    """Seconds as they are told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def refused(limit: WrongKeys, address: str) -> int | None:
    """Return how long a wrong key must wait, None if it is only wrong."""
    try:
        limit.note(address)
    except Refused as error:
        return int(error.headers["Retry-After"])
    return None


def test_after_so_many_wrong_keys_within_a_minute_an_address_must_wait() -> None:
    clock = Clock()
    limit = WrongKeys(clock)

    waits = []
    for _ in range(20):
        waits.append(refused(limit, "192.0.2.7"))
        clock.now += 1.0

    assert waits == [None] * MOST_WRONG + list(range(50, 40, -1))
    assert refused(limit, "192.0.2.8") is None


def test_whoever_waits_may_try_again_and_what_was_refused_does_not_count() -> None:
    clock = Clock()
    limit = WrongKeys(clock)
    for _ in range(MOST_WRONG + 50):
        refused(limit, "192.0.2.7")

    clock.now += 59.5
    assert refused(limit, "192.0.2.7") == 1
    clock.now += 0.5

    assert [refused(limit, "192.0.2.7") for _ in range(MOST_WRONG + 1)] == [None] * MOST_WRONG + [60]


def test_it_remembers_a_bounded_number_of_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrong_keys, "MOST_ADDRESSES", 100)
    limit = WrongKeys(Clock())

    for number in range(1000):
        refused(limit, f"10.0.{number // 256}.{number % 256}")
        refused(limit, "192.0.2.7")  # which is never silent for long

    assert len(limit) == 100
    assert refused(limit, "192.0.2.7") == 60


def scope(peer: str | None, *forwarded: bytes) -> dict[str, object]:
    return {"client": peer and (peer, 4711), "headers": [(b"x-forwarded-for", each) for each in forwarded]}


def test_the_address_is_that_of_the_connection_unless_a_proxy_is_trusted() -> None:
    told = scope("10.0.0.2", b"192.0.2.7")

    assert address_of(told, behind_proxy=False) == "10.0.0.2"
    assert address_of(told, behind_proxy=True) == "192.0.2.7"
    assert address_of(scope("10.0.0.2"), behind_proxy=True) == "10.0.0.2"
    assert address_of(scope(None), behind_proxy=True) == address_of(scope(None), behind_proxy=False) == "unknown"


def test_what_a_client_says_of_itself_before_the_proxy_does_not_count() -> None:
    for told in (scope("10.0.0.2", b"1.1.1.1, 192.0.2.7"), scope("10.0.0.2", b"1.1.1.1", b" 192.0.2.7 ")):
        assert address_of(told, behind_proxy=True) == "192.0.2.7"
    for odd in (b"", b"unknown", b"\xff", b"1.1.1.1,", b"x" * 10_000):
        assert address_of(scope("10.0.0.2", odd), behind_proxy=True) == "10.0.0.2"


def test_of_an_ipv6_address_the_network_counts() -> None:
    first, second, other = "2001:db8:1:2::7", "2001:db8:1:2:ffff::1", "2001:db8:1:3::7"

    one, two, three = (address_of(scope(each), behind_proxy=False) for each in (first, second, other))

    assert one == two != three


def test_ipv4_addresses_that_an_ipv6_socket_writes_are_told_apart() -> None:
    mapped = [address_of(scope(f"::ffff:192.0.2.{last}"), behind_proxy=False) for last in (7, 8)]

    assert mapped == ["192.0.2.7", "192.0.2.8"]


def test_a_request_without_a_key_has_no_wrong_one() -> None:
    assert [names_a_key(text) for text in (None, "", "Bearer", "Bearer  ")] == [False] * 4
    assert [names_a_key(text) for text in ("Bearer x", "Basic abc")] == [True] * 2


def test_over_http_wrong_keys_get_429_and_a_valid_one_opens_from_the_same_address(served: Served) -> None:
    here, there = ({"X-Forwarded-For": address} for address in ("192.0.2.77", "192.0.2.78"))

    answers = [served.get("/trials", key="nonsense", headers=here) for _ in range(MOST_WRONG)]
    tries = iter(range(100 * MOST_WRONG))
    while answers[-1].status == 401 and next(tries, None) is not None:  # more only if a minute has passed meanwhile
        answers.append(served.get("/trials", key="nonsense", headers=here))

    limited = answers[-1]
    assert [answer.status for answer in answers[:MOST_WRONG]] == [401] * MOST_WRONG
    assert limited.status == limited.json["status"] == 429
    assert 1 <= int(limited.headers["retry-after"]) <= 60
    assert limited.headers["content-type"] == "application/problem+json"
    assert served.get("/trials", key="nonsense", headers=there).status == 401
    assert served.get("/trials", headers=here).status == 200
    assert served.get("/trials", key="", headers=here).status == 401
