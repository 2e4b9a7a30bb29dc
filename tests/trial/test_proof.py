"""Verification: whatever was changed in a stored log is found, and the first bad record is named (F14)."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

import dtrbandit as dtr
from dtrbandit.record.chain import EMPTY, Head, Record, linked, unlinked
from dtrbandit.record.events import Assigned
from dtrbandit.record.snapshot import Snapshot
from dtrbandit.storage import MemoryStore, SQLiteStore
from dtrbandit.trial import Ask, Trial, verify_stored
from dtrbandit.trial.proof import say_progress
from trial.children import run
from trial.small_trial import DESIGN, POLICY, Clock, address, begun, fill
from trial.snapshot_files import rewrite, take_snapshot

FLIPS = 60  # benchmarks/soak.py has thousands


def a_file(folder: Path) -> Head:
    """Write a trial of some units to a file, and return its head."""
    with begun(address(folder)) as trial:
        fill(trial, 12)
        trial.take([Ask(dtr.Enroll("keyed", {"x": 1.0}), key="k1")])
        return trial.head


def verified(folder: Path, against: Head | None = None) -> dtr.trial.Verification:
    store = SQLiteStore(folder / "trial.db")
    try:
        return verify_stored(store, "pilot", against=against)
    finally:
        store.close()


def change(folder: Path, *statements: str) -> None:
    database = sqlite3.connect(folder / "trial.db")
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()


def test_a_whole_log_is_in_order(tmp_path: Path) -> None:
    head = a_file(tmp_path)

    found = verified(tmp_path, head)

    assert found
    assert (found.records, found.first_bad, found.problem, found.flags) == (head.sequence, None, None, ())
    assert [part.own for part in found.segments] == [True]
    assert str(found).endswith("every decision follows from the facts before it.")


@pytest.mark.parametrize(
    ("statements", "bad"),
    [
        (["UPDATE records SET text = replace(text, '\"u', '\"v') WHERE sequence = 20"], 20),
        (["UPDATE records SET hash = 'x' || substr(hash, 2) WHERE sequence = 7"], 7),
        (["DELETE FROM records WHERE sequence = 9"], 9),
        (["DELETE FROM records WHERE sequence = 1"], 1),
        (
            [
                "UPDATE records SET sequence = -5 WHERE sequence = 5",
                "UPDATE records SET sequence = 5 WHERE sequence = 6",
                "UPDATE records SET sequence = 6 WHERE sequence = -5",
            ],
            5,
        ),
        (["UPDATE records SET text = 17 WHERE sequence = 4"], 4),
        (["UPDATE records SET text = x'ff00' WHERE sequence = 4"], 4),
        (["UPDATE records SET hash = 3.5 WHERE sequence = 4"], 4),
    ],
    ids=["edited", "hash", "deleted", "first", "swapped", "number", "bytes", "hash-number"],
)
def test_a_changed_record_is_named(statements: list[str], bad: int, tmp_path: Path) -> None:
    a_file(tmp_path)
    change(tmp_path, *statements)

    found = verified(tmp_path)

    assert not found
    assert (found.first_bad, found.records) == (bad, bad - 1)
    assert f"First bad record: {bad}." in str(found)
    with pytest.raises(dtr.LogError):
        Trial.open("pilot", storage=address(tmp_path))


def test_a_log_that_was_cut_is_found_against_an_exported_head(tmp_path: Path) -> None:
    head = a_file(tmp_path)
    change(
        tmp_path,
        f"DELETE FROM records WHERE sequence > {head.sequence - 2}",  # an enrolment and its decision
        "DELETE FROM requests",
    )

    assert verified(tmp_path)
    found = verified(tmp_path, head)
    assert (found.ok, found.first_bad) == (False, head.sequence - 1)
    assert "it was cut" in str(found.problem)


def test_another_log_is_found_against_an_exported_head(tmp_path: Path) -> None:
    head = a_file(tmp_path)

    found = verified(tmp_path, Head(5, head.hash))

    assert (found.ok, found.first_bad) == (False, 5)


def test_a_trial_that_went_on_is_in_order_against_an_earlier_head(tmp_path: Path) -> None:
    head = a_file(tmp_path)
    with Trial.open("pilot", storage=address(tmp_path)) as trial:
        fill(trial, 3, first=50)

        assert trial.verify(head)
        assert trial.verify(trial.head)


def relinked(records: list[Record]) -> Trial:
    """Return a trial in memory with these records under a chain of their own: somebody wrote all hashes anew."""
    store = MemoryStore()
    storage = store.log(store.add_trial("pilot").rehearsal)
    storage.append(list(linked(records)), 0)
    return Trial(store, "pilot", clock=Clock(), own=False)


def the_records(units: int = 12) -> list[Record]:
    trial = begun("memory://")
    fill(trial, units)
    return list(trial.records())


@pytest.mark.parametrize("field", ["arm", "propensity", "q_hat"])
def test_a_decision_that_does_not_follow_from_the_facts_is_found_under_a_new_chain(field: str) -> None:
    records = the_records()
    k = [n for n, record in enumerate(records) if isinstance(record.event, Assigned)][-1]
    decision = records[k].event.decision  # type: ignore[union-attr]  # it is one
    changed = {
        "arm": decision._replace(arm={"a": "b", "b": "a"}[decision.arm]),
        "propensity": decision._replace(propensity=0.123),
        "q_hat": decision._replace(q_hat={"a": 9.0, "b": 9.0}),
    }[field]
    records[k] = records[k]._replace(event=Assigned(changed))

    found = relinked(records).verify()

    assert (found.ok, found.first_bad) == (False, k + 1)
    assert field in str(found.problem)


def test_the_first_of_two_faults_is_named() -> None:
    records = the_records()
    k = [n for n, record in enumerate(records) if isinstance(record.event, Assigned)][3]
    decision = records[k].event.decision  # type: ignore[union-attr]  # it is one
    records[k] = records[k]._replace(event=Assigned(decision._replace(propensity=0.123)))
    trial = relinked(records)
    damage = "UPDATE records SET hash = ? WHERE sequence = ?"
    trial._store.ask(damage, "0" * 64, len(records))  # type: ignore[attr-defined]  # it is one of tables

    assert trial.verify().first_bad == k + 1


def test_every_flipped_byte_of_a_record_is_found(tmp_path: Path) -> None:
    head, rng = a_file(tmp_path), random.Random(0)
    path = tmp_path / "trial.db"
    whole = path.read_bytes()
    database = sqlite3.connect(path)
    rows = database.execute("SELECT sequence, text, hash FROM records").fetchall()
    database.close()
    for _ in range(FLIPS):
        sequence, text, its_hash = rng.choice(rows)
        target = rng.choice([text, its_hash]).encode()
        start = whole.index(target)
        damaged = bytearray(whole)
        damaged[start + rng.randrange(len(target))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)

        assert verified(tmp_path).first_bad == sequence
    path.write_bytes(whole)
    assert verified(tmp_path, head)


def test_a_byte_anywhere_in_the_file_is_found_or_changes_nothing(tmp_path: Path) -> None:
    head, rng = a_file(tmp_path), random.Random(1)
    path = tmp_path / "trial.db"
    whole, found = path.read_bytes(), 0
    for _ in range(FLIPS):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            answer = verified(tmp_path, head)
        except dtr.DTRError:  # it is no database of ours any more
            found += 1
            continue
        found += not answer
        if answer:
            with Trial.open("pilot", storage=address(tmp_path)) as trial:
                assert trial.head == head
    assert found > FLIPS / 4


def test_a_rehearsal_is_verified_with_the_live_log(tmp_path: Path) -> None:
    with begun(address(tmp_path)) as trial:
        fill(trial, 5)
        trial.lock(actor="lead", reason="approved")
        fill(trial, 3)
        assert trial.verify()
    change(tmp_path, "UPDATE records SET text = replace(text, 'u2', 'u3') WHERE log = 1 AND sequence = 12")

    found = verified(tmp_path)

    assert not found
    assert "of the rehearsal before it, record 12" in str(found.problem)


def test_a_live_log_names_its_rehearsal(tmp_path: Path) -> None:
    with begun(address(tmp_path)) as trial:
        trial.lock(actor="lead", reason="approved")
    change(tmp_path, "DELETE FROM records WHERE log = 1 AND sequence = 2")  # the end of the rehearsal

    found = verified(tmp_path)

    assert (found.ok, found.first_bad) == (False, 1)
    assert "names a rehearsal" in str(found.problem)


def test_a_key_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    a_file(tmp_path)
    change(tmp_path, "UPDATE requests SET sequence = 500")

    assert "'k1' belongs to records that are not there" in str(verified(tmp_path).problem)


def test_keys_that_are_not_as_their_record_says_are_found_with_any_trial(tmp_path: Path) -> None:
    a_file(tmp_path)
    change(tmp_path, "INSERT INTO keys VALUES ('id1', 'a', 'site', 'x', 'y', NULL, NULL, NULL, NULL, NULL)")

    found = verified(tmp_path)

    assert (found.ok, found.first_bad) == (False, None)
    assert found.problem == "the key id1 is in the table of keys, and no record says that it was created"


def test_an_empty_log_is_not_in_order() -> None:
    store = MemoryStore()
    store.add_trial("pilot")

    assert verify_stored(store, "pilot").first_bad == 1
    with pytest.raises(dtr.NotFound):
        verify_stored(store, "other")


def test_a_clock_that_goes_back_or_far_ahead_is_recorded_and_changes_no_decision() -> None:
    clock, session = Clock(), dtr.Session(DESIGN, POLICY, seed=1)
    trial = Trial.create("pilot", DESIGN, POLICY, storage="memory://", seed=1, clock=clock)
    for t, skew in enumerate([timedelta(), timedelta(days=-1), timedelta(days=3653), timedelta(days=-3652)]):
        clock.now += skew
        assert trial.enroll(f"u{t}", {"x": t / 3}) == session.enroll(f"u{t}", {"x": t / 3})

    found = trial.verify()

    assert found
    assert len(found.flags) == 2
    assert found.flags[0].startswith("Record 4: the clock went back by 23:59:00, to 2026-11-16")


def test_the_parts_of_another_release_are_named() -> None:
    records = the_records()
    opened = records[0].event
    old = relinked([records[0]._replace(event=opened._replace(numerics=dtr.NUMERICS - 1)), *records[1:]])  # type: ignore[call-arg]
    with pytest.raises(dtr.LogError, match="upgrade"):
        old.enroll("next", {"x": 1.0})
    old.upgrade(actor="lead", reason="the old release is gone")
    fill(old, 4, first=60)

    found = old.verify()

    assert found
    assert [(part.numerics, part.own) for part in found.segments] == [(dtr.NUMERICS - 1, False), (dtr.NUMERICS, True)]
    assert f"Records 1 to {len(records)}: verify their decisions by release" in str(found)


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    trial = begun("memory://")
    fill(trial, 5)

    trial.verify(progress=lambda done, total: told.append((done, total)))

    assert told == [(trial.head.sequence, trial.head.sequence)]


def test_progress_is_written_from_two_seconds_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = iter([0.0, 1.0, 2.5, 4.0, 8.0])
    clock = SimpleNamespace(monotonic=lambda: next(now))  # for this module alone: other threads look at the time, too
    monkeypatch.setattr("dtrbandit.trial.proof.time", clock)
    say: Callable[[int, int], object] = say_progress("verifying pilot")

    for done in (1, 2, 3, 4):
        say(done, 4)

    assert capsys.readouterr().err == ("verifying pilot: 2 of 4 records, 2 s\nverifying pilot: 4 of 4 records, 8 s\n")


def test_a_stored_chain_is_the_chain_of_its_records() -> None:
    trial = begun("memory://")
    fill(trial, 5)
    stored = list(trial._store.log(1).read())

    assert list(linked(unlinked(stored), EMPTY)) == stored


# -- snapshots do not count, and must agree ------------------------------------------------------------------------


def with_snapshot(folder: Path, *, more: int = 0) -> tuple[Path, int]:
    """Write a trial and a snapshot of it, and so many units more; return the snapshot's file and record."""
    with begun(address(folder)) as trial:
        fill(trial, 12)
        trial.correct("u1", outcome=9.0, reason="typo")
        trial.void("u2", reason="twice")
        place, sequence = take_snapshot(trial), trial.head.sequence
        fill(trial, more, first=12)
    return place, sequence


@pytest.mark.parametrize("more", [0, 5])
def test_a_snapshot_that_says_what_the_log_leads_to_is_in_order(more: int, tmp_path: Path) -> None:
    with_snapshot(tmp_path, more=more)

    assert verified(tmp_path), verified(tmp_path)


def bent(place: Path, name: str) -> None:
    """Change the last bit of an array of a snapshot."""
    array = Snapshot.from_bytes(place.read_bytes()).arrays[name].copy()
    array.reshape(-1).view("|u1")[0] ^= 1
    rewrite(place, {name: array})


SAYS_OTHERWISE: dict[str, Callable[[Path], None]] = {
    "tally": lambda place: rewrite(place, tally={"states": []}),
    "in_flight": lambda place: rewrite(place, in_flight=[]),
    "of_trial": lambda place: rewrite(place, of_trial=[[0, '{"event":"Held"}']]),
    "events": lambda place: rewrite(place, events=1),
    "names": lambda place: bent(place, "names"),
    "state.observed.features": lambda place: bent(place, "state.observed.features"),
    "state.observed.outcome": lambda place: bent(place, "state.observed.outcome"),
    "ledger.outcomes": lambda place: bent(place, "ledger.outcomes"),
    "ledger.0.arms": lambda place: bent(place, "ledger.0.arms"),
}


@pytest.mark.parametrize("more", [0, 5])
@pytest.mark.parametrize("name", SAYS_OTHERWISE)
def test_a_snapshot_that_says_something_else_is_named(name: str, more: int, tmp_path: Path) -> None:
    place, sequence = with_snapshot(tmp_path, more=more)
    SAYS_OTHERWISE[name](place)

    found = verified(tmp_path)

    assert (found.ok, found.first_bad) == (False, sequence)
    assert f"the snapshot of record {sequence} says something else than its log leads to ({name})" in str(found)


def test_every_array_of_a_snapshot_is_compared(tmp_path: Path) -> None:
    place, sequence = with_snapshot(tmp_path)
    content = place.read_bytes()
    arrays = {name: array for name, array in Snapshot.from_bytes(content).arrays.items() if array.size}

    for name in arrays:
        bent(place, name)
        found = verified(tmp_path)
        assert f"({name})" in str(found), name
        assert found.first_bad == sequence
        place.write_bytes(content)
    assert len(arrays) > 20
    assert verified(tmp_path)


def test_a_damaged_snapshot_or_one_of_another_log_does_not_count(tmp_path: Path) -> None:
    place, _ = with_snapshot(tmp_path)

    place.write_bytes(place.read_bytes()[:-1])
    assert verified(tmp_path)
    place.unlink()
    assert verified(tmp_path)


def test_damage_to_the_log_is_found_whatever_a_snapshot_says(tmp_path: Path) -> None:
    with_snapshot(tmp_path, more=3)
    change(tmp_path, "UPDATE records SET text = replace(text, '\"u', '\"v') WHERE sequence = 6")

    assert verified(tmp_path).first_bad == 6


class Earlier:
    """Some units of an earlier trial."""

    def teaching(self, design: dtr.Design) -> list[dtr.record.Taught]:  # noqa: ARG002  # what a prior is asked
        return [dtr.record.Taught(f"e{n}", ({"x": n / 7}, {"r": -1.0}), ("a",), float(n)) for n in range(9)]


def test_a_snapshot_after_an_earlier_trial_is_verified_by_another_process(tmp_path: Path) -> None:
    """There, sets have another order."""
    with Trial.create("pilot", DESIGN, POLICY, storage=address(tmp_path), seed=1, prior=Earlier()) as trial:
        fill(trial, 4)
        take_snapshot(trial)

    script = f"from dtrbandit.trial import Trial; print(Trial.open('pilot', storage={address(tmp_path)!r}).verify())"

    assert run("-c", script).startswith("28 records: the chain is whole")
