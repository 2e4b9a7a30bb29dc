"""Forks, for real: what a child may go on with, and what it is told about the rest (``forked.py``)."""

from __future__ import annotations

import gc
import os
import weakref

import pytest

from dtrbandit import forks
from trial.children import run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What each case printed. One process runs all of them, since it takes two seconds to start."""
    cases = ("sessions", "own thread", "memory", "idle", "busy", "writing", "wal")
    printed = run("-m", "forked", f"sqlite:///{tmp_path_factory.mktemp('forked')}/{{}}.db", *cases)
    return {case: lines for case, *lines in (part.splitlines() for part in printed.split("== ")[1:])}


def test_a_child_is_told_that_a_session_was_in_a_verb_and_goes_on_from_its_log_and_with_others(
    found: dict[str, list[str]],
) -> None:
    verb, summary, other, resumed, ended, parent = found["sessions"]

    assert verb == summary
    assert verb.startswith("ProtocolError: another thread was in a call of this session when this process was forked")
    assert "Session.resume(session.log" in verb
    assert (other, resumed) == ("done: a", "done: 2")
    assert (ended, parent) == ("child ended with 0", "['before', 'slow']")


def test_a_verb_that_forks_ends_in_both_processes(found: dict[str, list[str]]) -> None:
    assert found["own thread"] == ["(1, 2)", "(1, 2)"]


def test_a_child_leaves_the_connection_of_a_trial_to_its_parent_and_opens_its_own(found: dict[str, list[str]]) -> None:
    told, own, ended, parent = found["idle"]

    assert told.startswith("Unavailable: this process was forked from the one that opened the database")
    assert "Open the trial again in this process" in told
    assert (own, ended, parent) == ("done: 1", "child ended with 0", "done: 2")


def test_a_child_of_a_process_within_a_turn_opens_no_file_and_does_not_end_the_turn(
    found: dict[str, list[str]],
) -> None:
    told, own, ended, parent = found["busy"]

    assert told.startswith("ProtocolError: another thread was in a call of the trial 'pilot'")
    assert own.startswith("Unavailable: ")
    assert "busy.db was in use when this process was forked" in own
    assert "multiprocessing: spawn" in own
    assert (ended, parent) == ("child ended with 0", "done: ('slow', True)")


def test_a_child_that_ends_while_its_parent_writes_takes_nothing_back(found: dict[str, list[str]]) -> None:
    told, ended, parent = found["writing"]

    assert told.startswith("Unavailable: ")
    assert (ended, parent) == ("child ended with 0", "done: slow")


def test_a_child_opens_no_file_in_wal_mode_that_its_parent_has_open(found: dict[str, list[str]]) -> None:
    """SQLite believes that such a child has the parent's lock: what it commits is lost when the parent closes."""
    told, own, ended, parent = found["wal"]

    assert told == own
    assert "wal.db was in use when this process was forked" in told
    assert (ended, parent) == ("child ended with 0", "done: 1")


def test_a_child_is_told_of_a_trial_in_memory_that_was_in_a_call_and_goes_on_with_others(
    found: dict[str, list[str]],
) -> None:
    trial, store, other, ended = found["memory"]

    assert trial.startswith("ProtocolError: another thread was in a call of the trial 'pilot'")
    assert store.startswith("ProtocolError: another thread was in a turn of this store in memory")
    assert (other, ended) == ("done: 1", "child ended with 0")


def test_what_is_told_at_a_fork_is_not_kept_alive_for_it() -> None:
    class Owner: ...

    owner = Owner()
    forks.at_fork(owner, lambda _: None)
    known = weakref.ref(owner)
    del owner
    gc.collect()

    assert known() is None
