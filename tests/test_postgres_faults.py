"""Faults of a trial on PostgreSQL: the table in docs/storage.md, and F15. Workers have theirs in tests/service."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.storage import connect, connect_existing
from dtrbandit.storage.store import copy_store
from dtrbandit.trial import Ask, Taken, Trial
from dtrbandit.trial.trial import ATTEMPTS
from extras import needed
from postgres_server import Line, Server
from trial.small_trial import DESIGN, POLICY, begun, fill

needed("psycopg")

from dtrbandit.storage.postgres import PostgresStore  # noqa: E402


def enrolled(trial: Trial, unit: str) -> Taken | dtr.DTRError:
    (answer,) = trial.take([Ask(dtr.Enroll(unit, {"x": 1.0}), key=unit)])
    return answer


def test_a_trial_that_lags_follows_before_it_decides(postgres: str) -> None:
    session = dtr.Session(DESIGN, POLICY, seed=1)
    with begun(postgres) as first, Trial.open("pilot", storage=postgres) as second:
        fill(first, 12)
        fill(session, 12)

        assert second.enroll("next", {"x": 0.5}) == session.enroll("next", {"x": 0.5})
        assert first.enroll("after", {"x": 0.5}) == session.enroll("after", {"x": 0.5})
        assert first.verify()


def test_a_connection_lost_between_turns_goes_unnoticed(postgres: str, postgres_server: Server) -> None:
    with begun(postgres) as trial:
        for number in range(5):
            assert postgres_server.cut_off() >= 1
            answer = enrolled(trial, f"u{number}")
            assert isinstance(answer, Taken)
            assert answer.decision is not None
            assert answer.decision.round == number + 1


def test_a_connection_lost_in_a_turn_gives_no_arm_and_the_same_request_gets_one(
    postgres: str, postgres_server: Server
) -> None:
    cuts = [True]

    def clock() -> datetime:  # is asked in the middle of a turn
        if cuts and cuts.pop():
            postgres_server.cut_off()
        return datetime.now(UTC)

    begun(postgres).close()
    with Trial.open("pilot", storage=postgres, clock=clock) as trial:
        lost, again = enrolled(trial, "u1"), enrolled(trial, "u1")

        assert isinstance(lost, dtr.Unavailable)
        assert isinstance(again, Taken)
        assert not again.repeated
        assert trial.head.sequence == 3


def test_a_commit_whose_answer_is_lost_is_found_by_the_same_request(postgres: str) -> None:
    begun(postgres).close()
    line = Line(postgres)
    with Trial.open("pilot", storage=line.address) as trial:
        line.cuts = 1
        lost = enrolled(trial, "u1")
        again = enrolled(trial, "u1")
        other = enrolled(trial, "u2")

        assert isinstance(lost, dtr.Unavailable)
        assert "Repeat the same call" in str(lost)
        assert isinstance(again, Taken)
        assert again.repeated  # it had been stored
        assert isinstance(other, Taken)
        assert other.decision is not None
        assert other.decision.round == 2
        assert trial.verify()
    line.close()


@pytest.mark.parametrize(("times", "taken"), [(ATTEMPTS - 1, True), (ATTEMPTS, False)])
def test_a_conflict_is_followed_and_tried_again_a_few_times(postgres: str, times: int, taken: bool) -> None:
    """Somebody writes without taking turns; no process of ours does so."""
    begun(postgres).close()
    rude = PostgresStore(postgres, turns="BEGIN")
    other, left = Trial.open("pilot", storage=rude), iter(range(times))

    def clock() -> datetime:  # is asked in the middle of a turn
        for number in left:
            other.enroll(f"rude{number}", {"x": 1.0})
            break
        return datetime.now(UTC)

    with Trial.open("pilot", storage=postgres, clock=clock) as trial:
        answer = enrolled(trial, "u1")

        assert isinstance(answer, Taken if taken else dtr.Unavailable), answer
        assert isinstance(enrolled(trial, "u1"), Taken)
        assert [unit.unit for unit in trial.units()] == [f"rude{number}" for number in range(times)] + ["u1"]
        assert trial.verify()
    rude.close()


def test_a_process_that_hangs_in_a_turn_is_cut_off(postgres: str) -> None:
    hanging, other = PostgresStore(postgres), PostgresStore(postgres, patience=60.0)
    assert hanging.ask("SHOW idle_in_transaction_session_timeout") == [("1min",)]
    hanging.ask("SELECT set_config('idle_in_transaction_session_timeout', '200', false)")  # in place of a minute

    with pytest.raises(dtr.Unavailable):
        _hang(hanging, until=other)

    assert [entry.name for entry in hanging.trials()] == ["taken"]
    hanging.close()
    other.close()


def _hang(store: PostgresStore, *, until: PostgresStore) -> None:
    with store.turn():
        until.add_trial("taken")  # which waits until the server has ended this turn
        store.add_trial("lost")


def test_a_server_that_is_away_gives_no_arm_and_is_found_again() -> None:
    server = Server()
    with begun(server.new()) as trial:
        before = enrolled(trial, "u1")
        server.stop()
        away = enrolled(trial, "u2")
        server.start()
        back = enrolled(trial, "u2")

        assert isinstance(before, Taken)
        assert isinstance(away, dtr.Unavailable)
        assert isinstance(back, Taken)
        assert back.decision is not None
        assert back.decision.round == 2
        assert trial.verify()
    server.close()


def test_a_log_that_was_cut_behind_a_process_is_not_gone_on_with(postgres: str, postgres_server: Server) -> None:
    schema = postgres.rpartition("%3D")[2]
    with begun(postgres) as trial:
        fill(trial, 2)
        postgres_server.run(f"DELETE FROM {schema}.records WHERE sequence > 3")

        answer = enrolled(trial, "u9")

        assert isinstance(answer, dtr.LogError)
        assert "was cut or exchanged" in str(answer)


def test_a_backup_under_load_from_postgresql_is_restored_and_copied_with_the_same_next_decision(
    postgres_server: Server, tmp_path: Path
) -> None:
    """F15: a backup while others enrol, put back into a file and into another database."""
    busy, over = postgres_server.new(), threading.Event()
    begun(busy).close()

    def enrol(number: int) -> None:
        with closing(PostgresStore(busy, patience=60.0)) as store:
            trial = Trial.open("pilot", storage=store)
            for unit in range(10_000):
                trial.enroll(f"{number}-{unit}", {"x": unit / 7})
                if over.is_set() and unit >= 5:
                    return

    with Trial.open("pilot", storage=busy) as trial, ThreadPoolExecutor(3) as threads:
        working = [threads.submit(enrol, number) for number in range(3)]
        while trial.in_flight < 6:
            assert not any(each.done() for each in working)
        head = trial.backup(tmp_path / "backup.db")
        over.set()
        for each in working:
            each.result()
        found = trial.verify(head)
        assert found, found

    other = postgres_server.new()
    for address_ in (f"sqlite:///{tmp_path}/restored.db", other):
        assert Trial.restore(tmp_path / "backup.db", address_) == ["pilot"]
    copied = postgres_server.new()
    with closing(connect_existing(other)) as source, closing(connect(copied)) as target:
        copy_store(source, target)
    decisions = []
    for address_ in (f"sqlite:///{tmp_path}/backup.db", f"sqlite:///{tmp_path}/restored.db", other, copied):
        with Trial.open("pilot", storage=address_) as trial:
            assert trial.head == head
            decisions.append(trial.enroll("next", {"x": 0.5}))
    assert len(set(map(str, decisions))) == 1
    with pytest.raises(dtr.ProtocolError, match="a copy needs an empty store"):
        Trial.restore(tmp_path / "backup.db", other)
