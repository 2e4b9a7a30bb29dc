"""Snapshots: a trial that was opened by one is the trial that was opened by its log, and any doubt means the log."""

from __future__ import annotations

import errno
import json
import logging
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit._version import FORMAT, NUMERICS
from dtrbandit.record.snapshot import Snapshot, joined, parted
from dtrbandit.storage import MemoryStore
from dtrbandit.trial import Ask, Trial, snapshots
from dtrbandit.trial.snapshots import ABANDONED, KEPT, Snapshots, believed_by, differences, snapshots_of
from effort import scaled, seeded
from policies.states import differences as different_states
from policies.states import every_policy
from random_course import DESIGN, Earlier, next_command
from record.plain_histories import all_of, plain
from small_session import FAIR, Says
from trial import small_trial
from trial.plain_ledger import plain as plain_ledger
from trial.small_trial import Clock, address, begun, fill
from trial.snapshot_files import copy_of, files_of, opened_from, rewrite, take_snapshot

POLICIES = every_policy(DESIGN)


def go_on(trial: Trial, rng: np.random.Generator, steps: int, *others: Trial) -> None:
    """Let things happen in a trial, and the same in others: all must say the same."""
    for _ in range(steps):
        ask = Ask(next_command(trial._log.belief.histories, rng))
        (answer,) = trial.take([ask])
        for other in others:
            (found,) = other.take([ask])
            assert type(found) is type(answer)
            assert str(found) == str(answer) if isinstance(answer, dtr.DTRError) else plain(found) == plain(answer)


def assert_same(found: Trial, expected: Trial) -> None:
    """Demand that two trials know and show the same, bit for bit."""
    mine, own = found._log.belief, expected._log.belief
    assert different_states(mine.state, own.state) == []
    assert all_of(mine.histories) == all_of(own.histories)
    assert found.summary() == expected.summary()
    assert found.units() == expected.units()
    assert plain_ledger(found.ledger()) == plain_ledger(expected.ledger())
    assert found.state == expected.state
    assert [found.unit(unit) for unit in mine.histories.names] == [expected.unit(unit) for unit in own.histories.names]


# -- opening -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(POLICIES)), ids=lambda number: repr(POLICIES[number]))
def test_a_trial_opened_by_a_snapshot_is_the_one_opened_by_its_log_and_decides_the_same(
    number: int, tmp_path: Path
) -> None:
    rng, prior = np.random.default_rng(number), Earlier() if number % 2 else None
    clocks = [Clock() for _ in range(3)]
    live = Trial.create("pilot", DESIGN, POLICIES[number], storage=address(tmp_path), prior=prior, clock=clocks[0])
    go_on(live, rng, 120)
    taken = live.head.sequence
    take_snapshot(live)
    go_on(live, rng, 25)  # and the tail
    live.backup(tmp_path / "copy.db")
    live.backup(tmp_path / "log.db")
    shutil.copytree(tmp_path / "trial.db.snapshots", tmp_path / "copy.db.snapshots")
    for clock in clocks:
        clock.now = clocks[0].now

    by_snapshot = Trial.open("pilot", storage=f"sqlite:///{tmp_path}/copy.db", clock=clocks[1])
    by_log = Trial.open("pilot", storage=f"sqlite:///{tmp_path}/log.db", clock=clocks[2])

    with live, by_snapshot, by_log:
        assert (opened_from(by_snapshot), opened_from(by_log)) == (taken, 0)
        for clock in clocks:
            clock.now = clocks[0].now
        for each in (by_snapshot, by_log):
            assert different_states(each._log.belief.state, live._log.belief.state) == []
        assert_same(by_snapshot, by_log)
        go_on(by_snapshot, rng, 30, by_log, live)
        assert different_states(by_snapshot._log.belief.state, live._log.belief.state) == []
        clocks[1].now = clocks[2].now
        assert_same(by_snapshot, by_log)
        assert by_snapshot.session_log() == live.session_log()
        assert by_snapshot.verify()


@seeded(12)
def test_a_snapshot_at_any_moment_leads_to_the_trial_that_was_never_interrupted(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    policy, prior = POLICIES[seed % len(POLICIES)], Earlier() if seed % 2 else None
    never = Trial.create("pilot", DESIGN, policy, storage="memory://", seed=seed, prior=prior)
    trial = Trial.create("pilot", DESIGN, policy, storage=address(tmp_path), seed=seed, prior=prior)

    for _ in range(12):
        go_on(never, rng, int(rng.integers(1, 12)), trial)
        take_snapshot(trial)
        go_on(never, rng, int(rng.integers(0, 4)), trial)
        newest = files_of(trial).sequences()[0]
        trial.close()
        trial = Trial.open("pilot", storage=address(tmp_path))
        assert opened_from(trial) == newest

        assert different_states(trial._log.belief.state, never._log.belief.state) == []
        assert plain_ledger(trial.ledger()) == plain_ledger(never.ledger())
        assert trial.session_log() == never.session_log()
    assert trial.verify(), trial.verify()
    trial.close()


def test_a_trial_that_was_locked_has_snapshots_of_both_logs_and_opens_by_that_of_the_live_one(tmp_path: Path) -> None:
    trial = begun(address(tmp_path))
    fill(trial, 20)
    rehearsal = take_snapshot(trial)
    trial.lock(actor="lead", reason="approved")
    fill(trial, 3)
    live = take_snapshot(trial)
    summary = trial.summary()
    trial.close()

    with Trial.open("pilot", storage=address(tmp_path)) as again:
        assert opened_from(again) == again.head.sequence
        assert again.summary() == summary
        assert rehearsal.exists()
        assert rehearsal != live
        assert again.verify()


def test_a_trial_that_has_ended_or_is_held_is_so_when_it_is_opened_by_a_snapshot(tmp_path: Path) -> None:
    with begun(address(tmp_path)) as trial:
        fill(trial, 8)
        trial.hold(reason="no staff", site="north")
        trial.hold(reason="a signal")
        trial.release(reason="looked at")
        trial.end(actor="lead", reason="complete")
        take_snapshot(trial)
        expected = trial.summary()

    with Trial.open("pilot", storage=address(tmp_path)) as again:
        assert opened_from(again) == again.head.sequence
        assert again.summary() == expected
        assert again.phase == "ended"
        assert again.ledger().ended == "complete"
        assert again.ledger().held == {"north": "no staff"}
        with pytest.raises(dtr.ProtocolError):
            again.enroll("next", {"x": 0.5})


# -- any doubt means the log -------------------------------------------------------------------------------------


def of_another_log(place: Path) -> None:
    """Put the snapshot of another trial, with as many records, in its place."""
    folder = place.parent.parent / "elsewhere"
    folder.mkdir()
    with begun(address(folder), seed=2) as other:
        fill(other, 20)
        shutil.copy(take_snapshot(other), place)


def flip(place: Path) -> None:
    content = bytearray(place.read_bytes())
    content[len(content) // 2] ^= 1
    place.write_bytes(content)


def unreadable(place: Path) -> None:
    place.unlink()
    place.mkdir()


DOUBTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "another head": (lambda place: rewrite(place, head=[50, "0" * 64]), "of another log"),
    "a record that is not stored": (lambda place: rewrite(place, head=[9999, "0" * 64]), "not stored"),
    "no record": (lambda place: rewrite(place, head=[0, "0" * 64]), "not stored"),
    "another first record": (lambda place: rewrite(place, opened="0" * 64), "of another log"),
    "other numerics": (lambda place: rewrite(place, numerics=NUMERICS + 1), "this release has"),
    "another format": (lambda place: rewrite(place, format=FORMAT + 1), "this release has"),
    "another log": (of_another_log, "of another log"),
    "a flipped bit": (flip, "damaged, or no snapshot"),
    "half of it": (lambda place: os.truncate(place, place.stat().st_size // 2), "damaged, or no snapshot"),
    "nothing": (lambda place: os.truncate(place, 0), "damaged, or no snapshot"),
    "a file that cannot be read": (unreadable, "Is a directory"),
    "no head": (lambda place: rewrite(place, head=None), "'head'"),
    "no tally": (lambda place: rewrite(place, tally=None), "cannot be used: KeyError"),
    "a state of another shape": (
        lambda place: rewrite(place, {"state.observed.features": np.zeros(3, dtype=np.int8)}), "cannot be used"
    ),
}  # fmt: skip


@pytest.mark.parametrize("doubt", DOUBTS)
def test_any_doubt_about_a_snapshot_means_the_log_and_is_said_once(
    doubt: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spoil, says = DOUBTS[doubt]
    trial = begun(address(tmp_path))
    fill(trial, 20)
    expected = trial.summary()
    place = take_snapshot(trial)
    trial.close()
    spoil(place)

    with caplog.at_level(logging.WARNING, "dtrbandit.trial"), Trial.open("pilot", storage=address(tmp_path)) as again:
        assert opened_from(again) == 0
        assert again.summary() == expected
        for _ in range(2):  # once more for what is read again after a failure
            again._log._belief = None
            again._log.head = dtr.record.chain.EMPTY
            again.catch_up()
        assert again.verify().ok == ("cannot be used" not in says)  # what fits must also say what the log leads to

    told = [record.getMessage() for record in caplog.records]
    assert len(told) == (1 if "cannot be used" in says else 2)  # and once by verify, which looks for itself
    assert all(str(place) in each and says in each for each in told)


@pytest.mark.parametrize("doubt", DOUBTS)
def test_an_older_snapshot_stands_in_for_one_that_is_passed_over(doubt: str, tmp_path: Path) -> None:
    trial = begun(address(tmp_path))
    fill(trial, 10)
    older = trial.head.sequence
    take_snapshot(trial)
    fill(trial, 10, first=10)
    expected = trial.summary()
    place = take_snapshot(trial)
    trial.close()
    DOUBTS[doubt][0](place)

    with Trial.open("pilot", storage=address(tmp_path)) as again:
        assert opened_from(again) == older
        assert again.summary() == expected


def test_every_flipped_bit_of_some_bytes_of_a_snapshot_of_a_trial_falls_back_to_the_log(tmp_path: Path) -> None:
    trial = begun(address(tmp_path))
    fill(trial, 3)
    content, place = take_snapshot(trial).read_bytes(), take_snapshot(trial)
    files, storage = files_of(trial), trial._log.storage
    rng = np.random.default_rng(0)

    for where in rng.integers(len(content), size=scaled(400)).tolist():
        damaged = bytearray(content)
        damaged[where] ^= 1 << int(rng.integers(8))
        place.write_bytes(damaged)
        assert list(files.fitting(storage)) == []
    place.write_bytes(content)

    assert [head for head, _ in files.fitting(storage)] == [trial.head]
    trial.close()


def test_a_snapshot_of_another_design_or_policy_than_is_given_is_refused_as_the_log_is(tmp_path: Path) -> None:
    with begun(address(tmp_path)) as trial:
        fill(trial, 10)
        take_snapshot(trial)

    with pytest.raises(dtr.DTRError, match="policy"):
        Trial.open("pilot", storage=address(tmp_path), policy=dtr.Greedy())
    with Trial.open("pilot", storage=address(tmp_path)) as again:
        assert again.summary().units == 10


def test_a_database_that_is_away_says_nothing_about_a_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    trial = begun(address(tmp_path))
    fill(trial, 10)
    take_snapshot(trial)

    def away(*_: object) -> None:
        raise dtr.Unavailable("the database is away")

    with monkeypatch.context() as fault:
        fault.setattr(type(trial._log.storage), "pick", away)
        with pytest.raises(dtr.Unavailable):
            list(files_of(trial).fitting(trial._log.storage))

    assert [head for head, _ in files_of(trial).fitting(trial._log.storage)] == [trial.head]
    assert not caplog.records
    trial.close()


# -- files ---------------------------------------------------------------------------------------------------------


def test_policies_of_ones_own_and_stores_without_a_place_have_none(tmp_path: Path) -> None:
    own = Trial.create("own", small_trial.DESIGN, Says(FAIR), storage=address(tmp_path), seed=1)
    for n in range(9):
        own.enroll(f"u{n}", {"x": 0.5})
    own._log.worker._take(own._log)
    own.close()

    assert not (tmp_path / "trial.db.snapshots").exists()
    assert snapshots_of(MemoryStore(), 1) is None


def test_a_snapshot_is_not_taken_up_by_a_policy_of_ones_own(tmp_path: Path) -> None:
    """The state of a policy of one's own is whatever its code makes of it, and only the log is known to lead there."""
    with begun(address(tmp_path)) as trial:
        fill(trial, 10)
        place = take_snapshot(trial)
        found, own = Snapshot.from_bytes(place.read_bytes()), Says(FAIR)
        store = MemoryStore()
        Trial.create("own", small_trial.DESIGN, own, storage=store, seed=1)

        with pytest.raises(dtr.LogError, match="no policy of this package"):
            believed_by(found, store.log(1), small_trial.DESIGN, own)


def test_the_newest_two_are_kept_and_only_their_owner_may_read_them(tmp_path: Path) -> None:
    trial = begun(address(tmp_path))
    taken = []
    for n in range(5):
        fill(trial, 2, first=2 * n)
        taken.append(take_snapshot(trial))

    folder = tmp_path / "trial.db.snapshots"
    assert KEPT == 2
    assert sorted(folder.iterdir()) == sorted(taken[-2:])
    assert files_of(trial).sequences() == [trial.head.sequence, trial.head.sequence - 10]  # five events of each unit
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    trial.close()


def test_those_of_other_logs_and_other_files_are_let_alone(tmp_path: Path) -> None:
    trial = begun(address(tmp_path))
    other = Trial.create("other", small_trial.DESIGN, small_trial.POLICY, storage=trial._store, seed=1)
    folder = tmp_path / "trial.db.snapshots"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    (folder / "log-x-7.snapshot").write_text("no number")
    fill(other, 4)
    kept = take_snapshot(other)
    for n in range(4):
        fill(trial, 1, first=n)
        take_snapshot(trial)

    names = {path.name for path in folder.iterdir()}
    assert {kept.name, "notes.txt", "log-x-7.snapshot"} < names
    assert len(names) == 5
    trial.close()


def test_a_snapshot_that_is_there_already_is_not_written_again(tmp_path: Path) -> None:
    trial = begun(address(tmp_path))
    fill(trial, 4)
    before = take_snapshot(trial).stat()

    after = take_snapshot(trial).stat()

    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    trial.close()


def test_one_that_was_passed_over_is_replaced_and_does_not_count_among_the_newest(tmp_path: Path) -> None:
    """After an older backup was put in place of the file, what lies beside it has higher numbers than the log."""
    trial = begun(address(tmp_path))
    fill(trial, 10)
    trial.backup(tmp_path / "backup.db")
    fill(trial, 10, first=10)
    late = [take_snapshot(trial)]
    fill(trial, 10, first=20)
    late.append(take_snapshot(trial))
    trial.close()
    for path in tmp_path.glob("trial.db*"):
        if path.is_file():
            path.unlink()
    Trial.restore(tmp_path / "backup.db", address(tmp_path))

    with Trial.open("pilot", storage=address(tmp_path)) as again:
        assert opened_from(again) == 0
        files = again._log._snapshots
        assert files is not None
        files.write(copy_of(again))
        assert files.sequences() == [again.head.sequence]
    with Trial.open("pilot", storage=address(tmp_path)) as once_more:
        assert opened_from(once_more) == once_more.head.sequence
        damaged = files_of(once_more).path(once_more.head.sequence)
    flip(damaged)
    with Trial.open("pilot", storage=address(tmp_path)) as last:
        files = last._log._snapshots
        assert files is not None
        files.write(copy_of(last))  # of the same record
        assert [head for head, _ in files_of(last).fitting(last._log.storage)] == [last.head]


def test_snapshots_are_never_in_backups_nor_beside_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dtrbandit.trial.followed.AT_THE_END", 1)
    (tmp_path / "kept").mkdir()
    trial = begun(address(tmp_path))
    fill(trial, 10)
    take_snapshot(trial)

    head = trial.backup(tmp_path / "kept/backup.db")
    trial.close()

    assert head == trial._log.head
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["backup.db"]
    Trial.restore(tmp_path / "kept/backup.db", f"sqlite:///{tmp_path}/kept/restored.db")
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["backup.db", "restored.db"]
    with Trial.open("pilot", storage=f"sqlite:///{tmp_path}/kept/restored.db") as again:
        assert opened_from(again) == 0


# -- what fails is said once and harms nothing --------------------------------------------------------------------


def test_a_file_in_the_place_of_the_folder_is_said_once_and_harms_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "trial.db.snapshots").write_text("no folder")
    trial = begun(address(tmp_path))
    fill(trial, 6)
    files = files_of(trial)

    with caplog.at_level(logging.WARNING, "dtrbandit.trial"):
        for _ in range(3):
            files.write(copy_of(trial))

    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        f"no snapshot can be written to {tmp_path}/trial.db.snapshots"
    ]
    trial.close()
    with Trial.open("pilot", storage=address(tmp_path)) as again:
        assert (opened_from(again), again.summary().units) == (0, 6)
        assert again.verify()


@pytest.mark.parametrize("step", ["settle", "private_beside"])
def test_a_full_disk_is_said_once_and_leaves_the_older_snapshot_and_no_draft(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    trial = begun(address(tmp_path))
    fill(trial, 6)
    older = take_snapshot(trial)
    fill(trial, 6, first=6)
    files = files_of(trial)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as fault, caplog.at_level(logging.WARNING, "dtrbandit.trial"):
        fault.setattr(snapshots, step, full)
        for _ in range(2):
            files.write(copy_of(trial))

    assert len(caplog.records) == 1
    assert "No space left on device" in caplog.records[0].getMessage()
    assert list(older.parent.iterdir()) == [older]
    files.write(copy_of(trial))  # there is room again
    assert files.sequences()[0] == trial.head.sequence
    trial.close()


def test_a_draft_that_was_left_behind_is_removed_when_nobody_can_be_writing_to_it(tmp_path: Path) -> None:
    trial = begun(address(tmp_path))
    fill(trial, 6)
    folder = take_snapshot(trial).parent
    old, young, other = (folder / name for name in (".log-1-9.snapshot-0a", ".log-2-9.snapshot-0b", ".notes"))
    for path in (old, young, other):
        path.write_bytes(b"half")
    for path in (old, other):
        os.utime(path, (0.0, time.time() - ABANDONED - 9.0))
    fill(trial, 1, first=6)

    take_snapshot(trial)

    assert [path.exists() for path in (old, young, other)] == [False, True, True]
    trial.close()


# -- several workers ---------------------------------------------------------------------------------------------


def test_of_two_workers_the_slower_one_takes_nothing_from_the_other(tmp_path: Path) -> None:
    one = begun(address(tmp_path))
    fill(one, 5)
    slow = copy_of(one)
    with one, Trial.open("pilot", storage=address(tmp_path)) as two:
        taken = []
        for n in range(3):
            fill(two, 2, first=5 + 2 * n)
            taken.append(take_snapshot(two))
        files_of(one).write(slow)  # older than two that are there

        assert sorted(files_of(one).folder.iterdir()) == sorted(taken[-2:])
        assert_same(Trial.open("pilot", storage=two._store, clock=two._clock), two)


def test_workers_that_write_at_the_same_time_leave_whole_snapshots(tmp_path: Path) -> None:
    trial = begun(address(tmp_path))
    copies = []
    for n in range(6):
        fill(trial, 1, first=n)
        copies.append(copy_of(trial))
    ready = threading.Barrier(4)

    def write(seed: int) -> None:
        files = files_of(trial)
        ready.wait()
        for number in np.random.default_rng(seed).permutation(6).tolist():
            files.write(copies[number])

    workers = [threading.Thread(target=write, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    files = files_of(trial)
    files.write(copies[-1])
    assert next(files.fitting(trial._log.storage))[0] == trial.head
    assert len(files.sequences()) <= KEPT + 3  # who came late may have left one; the next to write removes it
    assert not [path for path in files.folder.iterdir() if path.name.startswith(".")]
    trial.close()


# -- a process that is killed ---------------------------------------------------------------------------------------

CHILD = """
import sys
from trial.snapshot_files import copy_of, files_of
from dtrbandit.trial import Trial
trial = Trial.open("pilot", storage=sys.argv[1])
own, files = copy_of(trial), files_of(trial)
print("ready", flush=True)
while True:
    files.write(own)
    files.path(own.head.sequence).unlink()
"""


@pytest.mark.slow
@pytest.mark.enlarged
def test_a_process_that_is_killed_while_it_writes_leaves_the_old_or_the_new_one_and_the_trial_opens(
    tmp_path: Path,
) -> None:
    trial = begun(address(tmp_path))
    fill(trial, 10)
    older = take_snapshot(trial).read_bytes()
    fill(trial, 10, first=10)
    newer, files = copy_of(trial).snapshot().to_bytes(), files_of(trial)
    expected, sequences = trial.summary(), (trial.head.sequence, files.sequences()[0])
    trial.close()
    paths = [str(Path(dtr.__file__).parents[1]), str(Path(__file__).parents[1])]
    environment, rng = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, np.random.default_rng(0)

    for _ in range(scaled(40)):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, address(tmp_path)], stdout=subprocess.PIPE, env=environment
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(timeout=float(rng.uniform(0.0, 0.05)))
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()

        found = {sequence: files.path(sequence).read_bytes() for sequence in files.sequences()}
        assert found in ({sequences[1]: older}, {sequences[0]: newer, sequences[1]: older})
        with Trial.open("pilot", storage=address(tmp_path)) as again:
            assert opened_from(again) == max(found)
            assert again.summary() == expected


# -- differences ---------------------------------------------------------------------------------------------------


def test_differences_are_named_and_room_of_a_policy_for_more_units_is_none() -> None:
    one = Snapshot({"count": 3, "pair": (1, 2)}, {"state.rows": np.zeros((2, 3)), "beta": np.ones(2)})
    roomy = Snapshot({"count": 3, "pair": [1, 2]}, {"state.rows": np.zeros((5, 3)), "beta": np.ones(2)})

    assert differences(one, one) == differences(roomy, one) == differences(one, roomy) == []
    assert differences(Snapshot({"count": 4}, roomy.arrays), one) == ["count", "pair"]
    assert differences(Snapshot({**one.header, "more": 1}, one.arrays), one) == ["more"]
    for name, wrong in (
        ("beta", np.ones(2, dtype=np.int64)),
        ("beta", np.ones(3)),
        ("state.rows", np.full((1, 3), -0.0)),
        ("state.rows", np.zeros(6)),
    ):
        assert differences(one._replace(arrays={**one.arrays, name: wrong}), one) == [name]
    assert differences(one._replace(arrays={}), one) == ["arrays"]


def test_a_snapshot_without_one_of_its_names_is_passed_over_and_named_by_verify(tmp_path: Path) -> None:
    with begun(address(tmp_path)) as trial:
        fill(trial, 12)
        place = take_snapshot(trial)
    found = Snapshot.from_bytes(place.read_bytes())
    names = parted(found.arrays["names"])
    rewrite(place, {"names": joined(names[:-1])})

    with Trial.open("pilot", storage=address(tmp_path)) as trial:
        assert trial._log.unchecked.sequence == 0
        assert trial.summary().units == 12
        assert "(names)" in str(trial.verify().problem)


def test_a_header_is_plain_and_has_no_text_of_units_that_have_ended(tmp_path: Path) -> None:
    """What people said of a unit that has ended is read from the log; a snapshot has its id, its numbers, no more."""
    trial = begun(address(tmp_path))
    fill(trial, 5)
    trial.withdraw("u0", reason="a private reason")

    found = Snapshot.from_bytes(take_snapshot(trial).read_bytes())

    assert "a private reason" not in json.dumps(found.header)
    assert found.header["head"] == [*trial.head]
    assert [each["unit"] for each in found.header["in_flight"]] == []
    trial.close()


def test_names_of_files_say_log_and_record(tmp_path: Path) -> None:
    files = Snapshots(tmp_path / "none", 7)

    assert files.path(12).name == "log-7-12.snapshot"
    assert files.sequences() == []
