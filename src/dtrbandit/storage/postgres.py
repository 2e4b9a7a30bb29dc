"""A store in a PostgreSQL database, by psycopg: several processes take turns, on one machine or on several.

A turn is a transaction that first takes the one lock of its tables, and then looks at what is new. So nobody decides
on what somebody else is about to change. Nobody waits for ever: each wait has a limit. A connection that is lost is
made again by the next turn; a turn that is under way ends with ``Unavailable``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from dtrbandit.errors import Conflict, DesignError, LogError, Unavailable
from dtrbandit.storage.postgres_schema import (
    POSTGRES,
    Connection,
    make_tables,
    require_tables,
    upgrade_tables,
    write_backup,
)
from dtrbandit.storage.schema import APPLICATION
from dtrbandit.storage.store import ApiKey, without_secret
from dtrbandit.storage.tables import DAMAGED, TableStore

PATIENCE = 5.0  # seconds that a turn waits for others to end theirs
SECONDS_OF_A_STATEMENT = 30  # after which the server gives up
SECONDS_OF_AN_IDLE_TURN = 60  # after which the server ends it: its process hangs
TO_CONNECT = {
    "connect_timeout": "5",
    "application_name": "dtrbandit",
    "keepalives_idle": "10",  # a machine that is gone is noticed
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
}
LOCKED = (  # the lock is that of these tables: another schema of the same database has another one
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "
    f"SELECT pg_advisory_xact_lock(({APPLICATION}::bigint << 32) + coalesce(to_regclass('trials')::oid::bigint, 0))"
)
SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
SETTINGS = """
    SELECT set_config('lock_timeout', %s, false), set_config('statement_timeout', %s, false),
        set_config('idle_in_transaction_session_timeout', %s, false), set_config('synchronous_commit',
            CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)
"""
DURABLE = "SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('server_encoding')"
TYPES = {  # of the columns of each table
    "trials": ("text", "integer", "integer"),
    "records": ("integer", "bigint", "bytea", "text"),
    "requests": ("integer", "text", "text", "text", "bigint", "integer"),
    "keys": ("text",) * len(ApiKey._fields),
    "checks": ("text", "text", "double precision", "integer"),
}
Prepare = Callable[[Connection, str], object]


class PostgresStore(TableStore):
    """A PostgreSQL database of trials; its tables are made if they are not there.

    Parameters
    ----------
    patience
        Seconds that a turn waits for others to end theirs.
    turns
        How a turn begins: with the lock, or with a snapshot, from which can only be read.
    prepare
        What is done about tables, when the store is opened.
    """

    UNIT, CONTENT = POSTGRES.unit, POSTGRES.content
    _connection: Connection

    def __init__(
        self, address: str, *, patience: float = PATIENCE, turns: str = LOCKED, prepare: Prepare = make_tables
    ) -> None:
        super().__init__(without_secret(address))
        self._address, self._patience, self._turns = address, patience, turns
        self._waiting: list[tuple[str, Sequence[object]]] = []  # what the present turn still has to write
        self._connection = self._connected()
        try:
            self._prepare(prepare)
        except BaseException:
            self.close()
            raise

    def _connected(self) -> Connection:
        try:
            parameters = {**_password(), **conninfo_to_dict(self._address)}
        except psycopg.Error:
            raise DesignError(
                f"the address {self._name} cannot be read; it is postgresql://user@host/database"
            ) from None  # whose text holds the whole address
        settings: dict[str, Any] = {**TO_CONNECT, **parameters, "client_encoding": "utf8", "autocommit": True}
        limits = (self._patience, SECONDS_OF_A_STATEMENT, SECONDS_OF_AN_IDLE_TURN)
        try:
            connection = psycopg.connect(**settings)
        except psycopg.Error as error:
            raise Unavailable(f"cannot connect to {self._name}: {_one_line(error)}; nothing was recorded") from error
        try:
            connection.execute(SETTINGS, [f"{1000 * seconds:.0f}" for seconds in limits])
            self._require_durable(connection)
        except psycopg.Error as error:
            connection.close()
            self._refuse(error)
        except BaseException:
            connection.close()
            raise
        return connection

    def _require_durable(self, connection: Connection) -> None:
        fsync, pages, encoding = connection.execute(DURABLE).fetchall()[0]
        if (fsync, pages) != ("on", "on"):
            raise Unavailable(
                f"{self._name} can lose what it has committed: fsync is {fsync}, full_page_writes {pages}; turn both on"
            )
        if encoding != "UTF8":
            raise DesignError(f"the encoding of {self._name} is {encoding}; give a database that has UTF8")

    def _prepare(self, prepare: Prepare) -> None:
        with self.turn():
            try:
                prepare(self._connection, str(self._name))
            except psycopg.Error as error:
                self._refuse(error)

    # -- turns -----------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self.ask(self._turns)

    def _commit(self) -> None:
        """Write what is waiting, and commit, in one go: the lock is held for no longer than that takes."""
        try:
            with self._connection.pipeline():
                self._write()
                ended = self._connection.execute("COMMIT")
        except psycopg.Error as error:
            if not self._connection.closed:
                self._refuse(error)
            raise Unavailable(
                f"the connection to {self._name} was lost before it said whether this is stored. Repeat the same call: "
                "it gets the recorded answer, or is taken now"
            ) from error
        if ended.statusmessage != "COMMIT":
            raise Unavailable(f"{self._name}: a step of this turn had failed, so that nothing of it was recorded")

    def _write(self) -> None:
        for statement, values in self._waiting:
            self._connection.execute(statement.encode(), values)
        self._waiting.clear()

    def _roll_back(self) -> None:
        self._waiting.clear()
        with suppress(psycopg.Error):
            self._connection.execute("ROLLBACK")
        if self._connection.info.transaction_status != TransactionStatus.IDLE:
            self._connection.close()  # interrupted, or lost: the next turn connects anew

    def ask(self, question: str, *values: object) -> list[Any]:
        """Return the rows that answer a question. Outside a turn it only reads.

        A connection that is found to be lost is made again once, before a turn but not in it.
        """
        with self._lock:
            tries = 1 if self._depth else 2
            while True:
                tries -= 1
                if self._connection.closed and not self._depth:
                    self._connect_again()
                try:
                    self._write()
                    cursor = self._connection.execute(_with_places(question).encode(), values or None)
                    return cursor.fetchall() if cursor.description else []
                except psycopg.Error as error:
                    if not (tries and self._connection.closed):
                        self._refuse(error)

    def _connect_again(self) -> None:
        if self._closed:
            raise Unavailable(f"this store, {self._name}, was closed; open it again")
        self._connection = self._connected()

    def _insert(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        """Insert rows at the end of the turn, or before the next question. A conflict is found then."""
        columns = [list(column) for column in zip(*rows, strict=True)]  # one statement, however many rows
        places = ", ".join(f"%s::{kind}[]" for kind in TYPES[table])
        self._waiting.append((f"INSERT INTO {table} SELECT * FROM unnest({places})", columns))

    # -- the database ----------------------------------------------------------------------------------------

    @property
    def snapshots(self) -> Path | None:
        """A folder of this machine: in DTRBANDIT_SNAPSHOTS, or in the user's cache. Each database has its own."""
        try:
            cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        except RuntimeError:  # a user without a home
            cache = None
        folder = os.environ.get("DTRBANDIT_SNAPSHOTS") or (cache and Path(cache) / "dtrbandit/snapshots")
        return Path(folder) / sha256(str(self._name).encode()).hexdigest()[:16] if folder else None

    def check(self) -> str | None:
        """Say which primary key is missing or not valid: they are what keeps a record from being there twice."""
        primary = "SELECT 1 FROM pg_index WHERE indrelid = to_regclass(?) AND indisprimary AND indisvalid"
        missing = [table for table in TYPES if not self.ask(primary, table)]
        return f"without a valid primary key: {', '.join(missing)}; restore a backup" if missing else None

    def backup(self, path: str | Path) -> None:
        """Write a copy to a new SQLite file, whole or not at all, from a snapshot: others go on."""
        PostgresStore(self._address, turns=SNAPSHOT, prepare=lambda at, name: write_backup(at, name, path)).close()

    def __repr__(self) -> str:
        return f"<PostgresStore {self._name}>"

    def _refuse(self, error: psycopg.Error) -> NoReturn:
        """Raise what a failure of PostgreSQL means to a caller."""
        why = _one_line(error)
        if isinstance(error, psycopg.IntegrityError):
            raise Conflict(f"{self._name}: somebody else wrote meanwhile ({why}); follow what is new") from error
        if (error.sqlstate or "").startswith("XX"):
            raise LogError(f"{self._name} is damaged: {why}; restore a backup", outside=DAMAGED) from error
        raise Unavailable(
            f"{self._name} cannot be read or written now: {why}. Nothing was recorded; look at the server, try again"
        ) from error


def existing(address: str) -> PostgresStore:
    """Return the store at an address, whose tables must be there."""
    return PostgresStore(address, prepare=require_tables)


def upgrade(address: str, backup: str | Path) -> int:
    """Bring the tables at an address up to this release, after a backup to a file; return how many steps it took."""
    steps: list[int] = []
    store = PostgresStore(address, prepare=lambda at, name: steps.append(upgrade_tables(at, name, backup)))
    store.close()
    return steps[0]


def _password() -> dict[str, str]:
    """Return the password that the file named by ``DTRBANDIT_PASSWORD_FILE`` holds; nothing where none is named."""
    named = os.environ.get("DTRBANDIT_PASSWORD_FILE")
    if not named:
        return {}
    try:
        return {"password": Path(named).read_text(encoding="utf-8").strip()}
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(f"DTRBANDIT_PASSWORD_FILE names {named}, which cannot be read: {error}") from error


def _one_line(error: psycopg.Error) -> str:
    return error.diag.message_primary or " ".join(str(error).split())


@lru_cache(maxsize=1024)
def _with_places(question: str) -> str:
    return question.replace("?", "%s")
