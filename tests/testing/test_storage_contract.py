"""The contract of stores finds stores that do not keep it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from dtrbandit.record.chain import Stored
from dtrbandit.storage import KEY_LOG, IdempotencyKey, MemoryStore, Store, TrialEntry
from dtrbandit.storage.tables import TableLog
from dtrbandit.testing import StorageContract

TESTS = [name for name in dir(StorageContract) if name.startswith("test_")]


class NoLock(TableLog):
    """A log that takes records after any number of others."""

    def append(self, records: Sequence[Stored], expected: int, keys: Sequence[IdempotencyKey] = ()) -> None:  # noqa: ARG002  # it does not look
        super().append(records, self.head().sequence, keys)


class Forgetful(TableLog):
    """A log that keeps no keys."""

    def append(self, records: Sequence[Stored], expected: int, keys: Sequence[IdempotencyKey] = ()) -> None:  # noqa: ARG002  # it does not look
        super().append(records, expected)


class Reencoding(TableLog):
    """A log that writes texts anew."""

    def read(self, since: int = 0) -> Iterator[Stored]:
        return (stored._replace(text=stored.text.replace(b":", b": ")) for stored in super().read(since))


class Short(TableLog):
    """A log that gives the first thousand records alone."""

    def read(self, since: int = 0) -> Iterator[Stored]:
        return iter(list(super().read(since))[:1000])


class Careless(TableLog):
    """A log that finds the records of a unit by a part of their text."""

    def of_unit(self, unit: str, until: int | None = None) -> list[tuple[int, Stored]]:
        return [each for each in enumerate(list(self.read())[:until], 1) if unit.encode() in each[1].text]


class WithLogs(MemoryStore):
    """A store whose logs are of a kind."""

    def __init__(self, kind: type[TableLog]) -> None:
        super().__init__()
        self._kind = kind

    def log(self, number: int) -> TableLog:
        return self._kind(self, number)


class HalfTurns(MemoryStore):
    """A store that keeps what a failed turn wrote."""

    @contextmanager
    def turn(self) -> Iterator[None]:
        failure = None
        with super().turn():
            try:
                yield
            except Exception as error:  # noqa: BLE001  # whatever it is, the turn counts
                failure = error
        if failure is not None:
            raise failure


class OneLog(MemoryStore):
    """A store in which a rehearsal and a live trial share their log."""

    def add_live(self, name: str) -> TrialEntry:
        entry = super().add_live(name)
        self.ask("UPDATE trials SET live = rehearsal")
        return entry._replace(live=entry.rehearsal)


class NoKeyLog(MemoryStore):
    """A store whose trials have the log of the keys."""

    def add_trial(self, name: str) -> TrialEntry:
        entry = super().add_trial(name)
        self.ask("UPDATE trials SET rehearsal = ?", KEY_LOG)
        return entry._replace(rehearsal=KEY_LOG)


def failures(store: Callable[[], Store], folder: Path) -> set[str]:
    """Return the tests of the contract that a kind of store fails."""

    class Contract(StorageContract):
        def store(self) -> Store:
            return store()

    failed = set()
    for name in TESTS:
        test = getattr(Contract(), name)
        place = folder / name
        place.mkdir(exist_ok=True)
        try:
            test(place) if inspect.signature(test).parameters else test()
        except Exception:  # noqa: BLE001  # a broken store may fail in any way
            failed.add(name)
    return failed


def test_a_good_store_fails_nothing(tmp_path: Path) -> None:
    assert failures(MemoryStore, tmp_path) == set()


@pytest.mark.parametrize(
    ("store", "found_by"),
    [
        (lambda: WithLogs(NoLock), "test_an_append_after_another_number_of_records_is_a_conflict"),
        (lambda: WithLogs(Forgetful), "test_keys_are_stored_with_what_they_led_to"),
        (lambda: WithLogs(Reencoding), "test_a_log_gives_back_what_was_appended"),
        (lambda: WithLogs(Short), "test_a_long_log_is_read_whole"),
        (lambda: WithLogs(Careless), "test_the_records_of_a_unit_are_found_in_order"),
        (lambda: WithLogs(Careless), "test_units_may_have_any_name"),
        (HalfTurns, "test_a_turn_counts_as_a_whole"),
        (NoKeyLog, "test_every_store_has_a_log_of_its_keys"),
        (OneLog, "test_trials_have_names_and_logs_of_their_own"),
    ],
)
def test_a_store_that_breaks_a_promise_is_found(store: Callable[[], Store], found_by: str, tmp_path: Path) -> None:
    assert found_by in failures(store, tmp_path)


def test_the_contract_itself_names_no_store() -> None:
    with pytest.raises(TypeError, match="needs a method store"):
        StorageContract().store()
