"""The contract of a store: subclass it in your tests and name your store.

::

    class TestMyStore(StorageContract):
        def store(self):
            return MyStore()

pytest then finds the tests below.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from dtrbandit.errors import Conflict, ProtocolError
from dtrbandit.record.chain import EMPTY, Head, Record, Stored, linked
from dtrbandit.record.events import ArmClosed, Assigned, Completed, Decision, Enrolled, Event, Held, Responded, Taught
from dtrbandit.storage import KEY_LOG, ApiKey, Check, IdempotencyKey, Storage, Store, connect_existing

ODD_UNITS = (
    "u1", "u10", "U1", "u 1", "u%", "u_1", "u?", '"', '""', '"quoted"', 'u"1', 'u"2', "\\", "\\\\", '\\"', '"\\',
    'u\\"1', "'", "';--", "/", "é", "e\u0301", "\\u00e9", "\\303\\251", "患者", '"unit":"u1"', '","unit":"u1', "{}",
    "null", "0", "😀" * 200, "😀" * 199 + "🙂", "x" * 200, "x" * 199 + "y",
)  # fmt: skip
MANY = 10_000  # records: more than are read in one go
KEY = IdempotencyKey("site", "k1", "f" * 64, 1, 2)
API_KEY = ApiKey("id1", "a" * 64, "site", "ward 3", "2026-11-17T09:00:00.000000Z", None, None, "pilot", "north", "salt")


class StorageContract:
    """What every store must keep; abstract, since it names no store."""

    def store(self) -> Store:
        """Return a new, empty store."""
        raise TypeError("a storage contract needs a method store() that returns a new, empty store")

    def test_a_log_gives_back_what_was_appended(self) -> None:
        """Texts and hashes come back byte for byte, and from any place on."""
        log, stored = self._log(), _stored(5)
        log.append(stored[:2], 0)
        log.append(stored[2:], 2)

        assert list(log.read()) == stored
        assert [list(log.read(since)) for since in range(7)] == [stored[since:] for since in range(7)]
        assert log.head() == Head(5, stored[-1].hash)
        assert log.pick([4, 1]) == [stored[3], stored[0]]

    def test_an_empty_log_has_an_empty_head(self) -> None:
        """There is nothing before the first record."""
        log = self._log()

        assert (log.head(), list(log.read()), log.all_keys()) == (EMPTY, [], [])

    def test_a_long_log_is_read_whole(self) -> None:
        """However many records are read in one go."""
        log, stored = self._log(), _stored(MANY)
        log.append(stored, 0)

        assert list(log.read()) == stored
        assert list(log.read(MANY - 1)) == stored[-1:]
        assert list(log.read(MANY)) == []
        assert log.pick(range(MANY, 0, -1)) == stored[::-1]

    def test_the_records_of_a_unit_are_found_in_order(self) -> None:
        """Of all kinds of events, with their numbers; events that are about no unit, or another, are left out."""
        store, decision = self.store(), Decision("u1", 1, "first", "a", "forced", 0.5, {"a": 1.0}, {"a": None}, ("a",))
        events: list[Event] = [
            Enrolled("u1", 1, {"unit": 1.0, "x": 0.5}, {"unit": ("u1", "a")}, "on purpose", "north"),
            Assigned(decision),
            Enrolled("u2", 2, {"x": 0.5}),
            Held("until u1 is well", "u1"),
            Responded("u1", "unit", {"u1": 1.0}),
            ArmClosed("unit", "u1", '"unit":"u1"'),
            Taught("u1", ({"x": 0.5},), ("a",), 1.0),
            Completed("u10", 1.0),
        ]
        stored = _stored_events(events)
        logs = [store.log(store.add_trial(name).rehearsal) for name in ("one", "two")]
        logs[0].append(stored, 0)
        logs[1].append(stored[:1], 0)

        assert logs[0].of_unit("u1") == [(number, stored[number - 1]) for number in (1, 2, 5, 7)]
        for until, expected in ((0, []), (1, [1]), (4, [1, 2]), (5, [1, 2, 5]), (8, [1, 2, 5, 7])):
            assert [number for number, _ in logs[0].of_unit("u1", until)] == expected
        assert logs[0].of_unit("u2") == [(3, stored[2])]
        assert logs[1].of_unit("u1") == [(1, stored[0])]
        for unknown in ("u", "u3", "", "first", "a", "x" * 10_000, "a\0b", "\ud800", "\n"):
            assert logs[0].of_unit(unknown) == []
        assert store.log(KEY_LOG).of_unit("u1") == []

    def test_units_may_have_any_name(self) -> None:
        """No two are mixed up."""
        log, stored = self._log(), _stored_events([Completed(unit, 1.0) for unit in ODD_UNITS * 2])
        log.append(stored, 0)

        for number, unit in enumerate(ODD_UNITS, 1):
            again = number + len(ODD_UNITS)
            assert log.of_unit(unit) == [(number, stored[number - 1]), (again, stored[again - 1])]

    def test_each_of_many_units_is_found(self) -> None:
        """Also those that a turn under way has added, and not those of a turn that failed."""
        store, stored = self.store(), _stored(MANY)
        log = store.log(store.add_trial("trial").rehearsal)
        log.append(stored[:-2], 0)
        last, lost = f"u{MANY - 1}", f"u{MANY}"
        with store.turn():
            log.append(stored[-2:-1], MANY - 2)
            assert log.of_unit(last) == [(MANY - 1, stored[-2])]
        with suppress(RuntimeError), store.turn():
            log.append(stored[-1:], MANY - 1)
            assert log.of_unit(lost) == [(MANY, stored[-1])]
            raise RuntimeError

        assert log.of_unit(lost) == []
        for number in range(1, MANY, 97):
            assert log.of_unit(f"u{number}") == [(number, stored[number - 1])]

    def test_an_append_after_another_number_of_records_is_a_conflict(self) -> None:
        """Who has not seen everything writes nothing."""
        log, stored = self._log(), _stored(3)
        log.append(stored[:2], 0)

        for expected in (0, 1, 3):
            with _raises(Conflict):
                log.append(stored[2:], expected, [KEY])

        assert (list(log.read()), log.all_keys()) == (stored[:2], [])

    def test_a_turn_counts_as_a_whole(self) -> None:
        """What is written in a turn that ends by an error was never there."""
        store, stored = self.store(), _stored(4)
        with store.turn():
            log = store.log(store.add_trial("kept").rehearsal)
            log.append(stored[:2], 0)

        with _raises(ZeroDivisionError), store.turn():
            log.append(stored[2:], 2, [KEY])
            store.add_trial("lost")
            store.add_live("kept")
            store.put_api_key(API_KEY)
            store.log(KEY_LOG).append(stored[:1], 0, [KEY])
            raise ZeroDivisionError

        assert (list(log.read()), log.all_keys(), store.api_keys()) == (stored[:2], [], [])
        assert (store.log(KEY_LOG).head(), store.log(KEY_LOG).all_keys()) == (EMPTY, [])
        assert [(entry.name, entry.live) for entry in store.trials()] == [("kept", None)]
        log.append(stored[2:], 2)
        assert list(log.read()) == stored

    def test_a_refusal_within_a_turn_leaves_the_rest_of_it(self) -> None:
        """A turn may go on after a conflict."""
        store, stored = self.store(), _stored(2)
        with store.turn():
            log = store.log(store.add_trial("trial").rehearsal)
            with _raises(Conflict):
                log.append(stored, 7)
            log.append(stored, 0)

        assert list(log.read()) == stored

    def test_keys_are_stored_with_what_they_led_to(self) -> None:
        """An idempotency key belongs to a log and an owner, and is there once."""
        store = self.store()
        first, second = (store.log(store.add_trial(name).rehearsal) for name in ("one", "two"))
        stored = _stored(4)
        first.append(stored[:2], 0, [KEY])

        assert first.keys([("site", "k1"), ("other", "k1"), ("site", "k2")]) == [KEY]
        assert first.keys([]) == second.keys([("site", "k1")]) == []
        with _raises(Conflict):
            first.append(stored[2:], 2, [KEY._replace(sequence=3)])
        assert (list(first.read()), first.all_keys()) == (stored[:2], [KEY])
        first.append(stored[2:], 2, [KEY._replace(owner="a", sequence=3)])
        assert first.all_keys() == [KEY._replace(owner="a", sequence=3), KEY]

    def test_many_keys_are_looked_up_together(self) -> None:
        """However many there are."""
        log = self._log()
        keys = [KEY._replace(key=f"k{number:03}") for number in range(500)]
        log.append(_stored(2), 0, keys)

        assert sorted(log.keys([("site", key.key) for key in keys] + [("site", "unknown")])) == keys

    def test_trials_have_names_and_logs_of_their_own(self) -> None:
        """A name is there once; a rehearsal and a live log are two."""
        store = self.store()
        entries = [store.add_trial(name) for name in ("b", "ä", "a")]
        live = store.add_live("b")

        assert [entry.name for entry in store.trials()] == ["a", "b", "ä"]
        assert store.trial("b") == live
        assert store.trial("c") is None
        assert len({live.live, *(entry.rehearsal for entry in entries)}) == 4
        for add, name in ((store.add_trial, "b"), (store.add_live, "b"), (store.add_live, "c")):
            with _raises(Conflict):
                add(name)

    def test_the_latest_check_of_each_kind_is_remembered(self) -> None:
        """An earlier one of the same kind and trial is replaced; one in a turn that failed does not count."""
        store = self.store()
        first, backup = Check("verify", "a", 1.0, True), Check("backup", "a", 2.5, True)

        for check in (first, backup, first._replace(time=3.0, ok=False), first._replace(trial="b")):
            store.note_check(check)
        with suppress(RuntimeError), store.turn():
            store.note_check(backup._replace(time=4.0))
            raise RuntimeError

        assert store.last_checks() == [backup, first._replace(time=3.0, ok=False), first._replace(trial="b")]

    def test_api_keys_are_kept_and_replaced(self) -> None:
        """By their ids."""
        store = self.store()
        store.put_api_key(API_KEY)
        store.put_api_key(API_KEY._replace(id="id0", expires="2027-11-17T09:00:00.000000Z"))
        store.put_api_key(API_KEY._replace(revoked="2026-11-18T09:00:00.000000Z"))

        assert store.api_keys() == [
            API_KEY._replace(id="id0", expires="2027-11-17T09:00:00.000000Z"),
            API_KEY._replace(revoked="2026-11-18T09:00:00.000000Z"),
        ]

    def test_every_store_has_a_log_of_its_keys(self) -> None:
        """It is there from the start, and is no trial's."""
        store, stored = self.store(), _stored(3)
        log = store.log(KEY_LOG)
        assert (log.head(), list(log.read()), log.all_keys()) == (EMPTY, [], [])

        log.append(stored, 0, [KEY])
        numbers = {store.add_trial("trial").rehearsal, store.add_live("trial").live}

        assert KEY_LOG not in numbers
        assert (list(log.read()), log.keys([("site", "k1")])) == (stored, [KEY])
        assert all(store.log(number).head() == EMPTY for number in numbers if number is not None)

    def test_writers_take_turns(self) -> None:
        """Threads that look and then append lose nothing, and nobody has a conflict."""
        store = self.store()
        log = store.log(store.add_trial("trial").rehearsal)
        ready = threading.Barrier(4)

        def write(_: int) -> None:
            ready.wait()
            for _ in range(25):
                with store.turn():
                    head = log.head()
                    log.append(list(linked([_record(head.sequence + 1)], head)), head.sequence)

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(write, range(4)))

        assert list(log.read()) == _stored(100)

    def test_a_backup_opens_as_a_store_with_the_same_content(self, tmp_path: Path) -> None:
        """Whatever kind of store it came from; the file is whole or not there."""
        store, stored = self.store(), _stored(3)
        entry = store.add_trial("trial")
        store.log(entry.rehearsal).append(stored, 0, [KEY])
        live = store.add_live("trial").live
        assert live is not None
        store.log(live).append(stored[:1], 0)
        store.put_api_key(API_KEY)
        store.log(KEY_LOG).append(stored[:2], 0, [KEY])

        store.backup(tmp_path / "backup.db")

        with closing(connect_existing(f"sqlite:///{tmp_path}/backup.db")) as copy:
            (found,) = copy.trials()
            assert found.live is not None
            assert (list(copy.log(found.rehearsal).read()), copy.log(found.rehearsal).all_keys()) == (stored, [KEY])
            assert list(copy.log(found.live).read()) == stored[:1]
            assert (copy.api_keys(), copy.check()) == ([API_KEY], None)
            assert (list(copy.log(KEY_LOG).read()), copy.log(KEY_LOG).all_keys()) == (stored[:2], [KEY])
            assert [file.name for file in tmp_path.iterdir()] == ["backup.db"]

    def test_a_backup_replaces_no_file(self, tmp_path: Path) -> None:
        """It may be the only copy of something else, or the database itself."""
        store, place = self.store(), tmp_path / "backup.db"
        place.write_text("dear")

        with _raises(ProtocolError):
            store.backup(place)

        assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("backup.db", "dear")]

    def _log(self) -> Storage:
        store = self.store()
        return store.log(store.add_trial("trial").rehearsal)


def _record(sequence: int) -> Record:
    return Record(sequence, "nurse ü", None, Completed(f"u{sequence}", sequence / 7))


def _stored(count: int) -> list[Stored]:
    return list(linked(_record(sequence) for sequence in range(1, count + 1)))


def _stored_events(events: Sequence[Event]) -> list[Stored]:
    return list(linked(Record(sequence, '"unit":"u1"', None, event) for sequence, event in enumerate(events, 1)))


@contextmanager
def _raises(error: type[Exception]) -> Iterator[None]:
    try:
        yield
    except error:
        return
    raise AssertionError(f"expected {error.__name__}, and nothing was raised")
