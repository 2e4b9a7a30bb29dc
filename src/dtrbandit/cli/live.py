"""What the commands of a live trial do."""

from __future__ import annotations

import getpass
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import sleep, time
from typing import Literal

import typer

from dtrbandit.cli.live_keys import operator
from dtrbandit.cli.reactions import until_stopped
from dtrbandit.cli.replacing import replace_copy
from dtrbandit.cli.trial_toml import read_trial
from dtrbandit.errors import DesignError, DTRError, NotFound, Unavailable
from dtrbandit.service.key_store import Asked, first_key
from dtrbandit.storage import Check, Store, connect, connect_existing, path_of, upgrade_tables, without_secret
from dtrbandit.storage.copying import copy_store
from dtrbandit.trial import Head, Trial
from dtrbandit.trial.opening import is_guessable
from dtrbandit.trial.proof import verify_stored
from dtrbandit.words import counted

WRONG = 1
PAPER_SCHEDULE = (
    'warning: the policy has schedule = "paper": a site could guess the forced arms. A rehearsal may, and '
    'lock will refuse it. Create the trial with schedule = "permuted", or lock it with --paper-schedule'
)


def create_trial(file: Path, storage: str, actor: str | None) -> None:
    """Create a trial as a file says, and print the first key of a new database."""
    wanted = read_trial(file)
    with _opened(connect(storage)) as store:
        trial = Trial.create(wanted.name, wanted.design, wanted.policy, storage=store, actor=_who(actor))
        typer.echo(str(trial.design))
        where = _place(storage)
        typer.echo(f"Created trial {trial.name!r} in {where}, in rehearsal. dtrbandit trial lock ends the rehearsal.")
        if is_guessable(trial.policy):
            typer.echo(PAPER_SCHEDULE, err=True)
        _print_first_key(store)


def show_trials(storage: str) -> None:
    """Print a line for each trial."""
    with _opened(connect_existing(storage)) as store:
        for name in Trial.names(store):
            trial = Trial.open(name, storage=store)
            phase = trial.phase if trial.locked or trial.phase == "rehearsal" else "ended in rehearsal"
            records = counted(trial.head.sequence, "record")
            typer.echo(f"{name}: {phase}, {records}, {counted(trial.in_flight, 'unit')} in flight")


def lock_trial(name: str, storage: str, actor: str | None, *, reason: str, paper_schedule: bool) -> None:
    """End the rehearsal of a trial."""
    with Trial.open(name, storage=storage) as trial:
        trial.lock(actor=_who(actor), reason=reason, paper_schedule=paper_schedule)
        typer.echo(f"Trial {name!r} is live. Its head is {_head_text(trial.head)}")


def end_trial(name: str, storage: str, actor: str | None, *, reason: str) -> None:
    """End a trial."""
    with Trial.open(name, storage=storage) as trial:
        trial.end(actor=_who(actor), reason=reason)
        never = " It was a rehearsal: it was never live, and cannot be locked any more." if not trial.locked else ""
        typer.echo(f"Trial {name!r} has ended.{never} Its head is {_head_text(trial.head)}")


def upgrade_trial(name: str, storage: str, actor: str | None, *, reason: str) -> None:
    """Go on with a trial of another release."""
    with Trial.open(name, storage=storage) as trial:
        trial.upgrade(actor=_who(actor), reason=reason)
        typer.echo(f"Trial {name!r} goes on with this release.")


def show_head(name: str, storage: str) -> None:
    """Print the head of a trial."""
    with Trial.open(name, storage=storage) as trial:
        typer.echo(_head_text(trial.head))


def verify_trial(name: str, storage: str, *, against: str | None, every: float | None, as_json: bool) -> int:
    """Verify a trial, once or again and again until something is wrong; return the exit code."""
    head = None if against is None else head_of(against)
    if every is None:
        return _verify(name, storage, head, as_json=as_json)
    with until_stopped():
        while not _verify(name, storage, head, as_json=as_json):
            sleep(every)
        return WRONG
    return 0


def _verify(name: str, storage: str, against: Head | None, *, as_json: bool) -> int:
    with _opened(connect_existing(storage)) as store:
        found = verify_stored(store, name, against=against)
        _note(store, Check("verify", name, time(), found.ok))
    if as_json:
        typer.echo(json.dumps({"name": name, **asdict(found)}))
    else:
        since = f" It goes on from the head {_head_text(against)}." if against and found.ok else ""
        typer.echo(f"{_now()}  {name}: {found}{since}")
    return 0 if found.ok else WRONG


def export_trial(name: str, file: Path, form: Literal["csv", "parquet", "jsonl"], storage: str) -> None:
    """Write a trial to a file."""
    with Trial.open(name, storage=storage) as trial:
        done = trial.export(file, form)
    left_out = f"; the next has not ended, and {done.waiting:,} from it on are left out" if done.waiting else ""
    typer.echo(f"Written: {file} ({counted(done.units, 'unit')}{left_out})")


def back_up(file: Path, storage: str, *, every: float | None = None, keep: int = 30, replace: bool = False) -> None:
    """Copy a database, once to a new file, or again and again into a folder of which the oldest copies go.

    ``replace``: an earlier copy of this name goes, once the new one is whole.
    """
    if every is None:
        _copy(file, storage, replace=replace)
        return
    if replace:
        raise DesignError(
            "--replace is for one copy: with --every each has a name of its own; leave out one of the two"
        )
    file.mkdir(parents=True, exist_ok=True)
    with until_stopped():
        while True:
            _copy(file / f"backup-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}.db", storage)
            for old in sorted(file.glob("backup-*Z.db"))[:-keep]:
                old.unlink()
            sleep(every)


def _copy(file: Path, storage: str, *, replace: bool = False) -> None:
    with _opened(connect_existing(storage)) as store:
        if replace and file.exists():
            replace_copy(file, storage, store)
        else:
            store.backup(file)
        for name in Trial.names(store):
            _note(store, Check("backup", name, time(), True))
    typer.echo(f"Written: {file}")


def _note(store: Store, check: Check) -> None:
    """Remember a check in the database that was checked; a damaged one may not take it."""
    try:
        store.note_check(check)
    except DTRError as error:
        typer.echo(f"The service will not know of this {check.what}: {error}", err=True)


def restore_backup(file: Path, storage: str) -> int:
    """Make a database from a backup, and verify all its trials; return the exit code."""
    return _verified(Trial.restore(file, storage), storage)


def _verified(names: list[str], storage: str) -> int:
    wrong = 0
    for name in names:
        with Trial.open(name, storage=storage) as trial:
            found = trial.verify()
            typer.echo(f"{name}: {found} Its head is {_head_text(trial.head)}")
            wrong = wrong if found.ok else WRONG
    return wrong


def copy_trials(source: str, target: str) -> int:
    """Copy all trials to an empty database of any kind, and verify them there; return the exit code."""
    with _opened(connect_existing(source)) as here, _opened(connect(target)) as there:
        copy_store(here, there)
    return _verified(Trial.names(target), target)


def migrate_tables(backup: Path, storage: str) -> None:
    """Bring the tables of a database up to this release, after a backup."""
    steps = upgrade_tables(storage, backup)
    typer.echo(f"Written: {backup}\nSteps taken: {steps}" if steps else "The tables are those of this release.")


def serve_trials(storage: str, *, host: str, port: int, behind_proxy: bool, workers: int) -> None:
    """Serve until told to stop."""
    with _with_packages():
        from dtrbandit.service.server import require_free, require_safe, serve
        from dtrbandit.service.workers import require_shareable
        from dtrbandit.web.app import Pages
        from dtrbandit.web.logins import new_secret
    require_safe(host, behind_proxy=behind_proxy)
    require_shareable(storage, workers)
    require_free(host, port)
    is_new = _is_new(storage)
    with _opened(connect(storage)) as store:
        _say_what_is_served(store, storage, is_new=is_new)
        _print_first_key(store)
    serve(
        storage,
        host=host,
        port=port,
        behind_proxy=behind_proxy,
        workers=workers,
        pages=partial(Pages, secure=behind_proxy, secret=new_secret()),
        listening=_say_where,
    )


@contextmanager
def _with_packages() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise DesignError(f"the service needs more packages ({error}): pip install 'dtrbandit[serve]'") from error


def _is_new(storage: str) -> bool:
    """Say whether there is no database at an address yet."""
    try:
        connect_existing(storage).close()
    except NotFound:
        return True
    return False


def _say_what_is_served(store: Store, storage: str, *, is_new: bool) -> None:
    """Name the database and its trials, so that a wrong one is noticed at once."""
    names = Trial.names(store)
    if names:
        typer.echo(f"{_place(storage)}: {counted(len(names), 'trial')} ({', '.join(names)}).")
        return
    if not is_new:
        typer.echo(f"{_place(storage)} holds no trial yet. dtrbandit trial create makes one.")
        return
    typer.echo(f"NEW DATABASE: there was none at {_place(storage)}, so an empty one was made there. It holds no trial.")
    typer.echo(
        "If your trial should be here, stop with Ctrl-C and start again with the address of its database: "
        "--storage sqlite:////folder/trial.db, or the variable DTRBANDIT_STORAGE."
    )


def _place(storage: str) -> str:
    """Return where a database is, as people look for it: the whole path of a file, or an address."""
    path = path_of(storage)
    return without_secret(storage) if path is None else str(path.absolute())


def _say_where(address: str) -> None:
    typer.echo(f"Listening at {address}. Stop with Ctrl-C.")


def head_of(text: str) -> Head:
    """Return the head that ``SEQUENCE:HASH`` says."""
    sequence, _, found = text.strip().partition(":")
    if not sequence.isdecimal() or len(found) != 64 or set(found) - set("0123456789abcdef"):
        raise DesignError(f"a head is SEQUENCE:HASH, as dtrbandit trial head prints it, found {text[:100]!r}")
    return Head(int(sequence), found)


def _head_text(head: Head) -> str:
    return f"{head.sequence}:{head.hash}"


@contextmanager
def _opened(store: Store) -> Iterator[Store]:
    try:
        yield store
    finally:
        store.close()


def _print_first_key(store: Store) -> None:
    new = first_key(store, now=datetime.now(UTC), asked=Asked(operator()))
    if new is not None:
        typer.echo(f"The first administrator's key of this database, shown only now; keep it safe:\n  {new.key}")


def _who(actor: str | None) -> str:
    """Return who is on record: what was said, or the user of this machine."""
    if actor is not None:
        return actor
    try:
        return f"{getpass.getuser()} (command line)"
    except (OSError, KeyError) as error:
        raise Unavailable(f"this machine does not say who you are ({error}); say --actor") from error


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}Z"
