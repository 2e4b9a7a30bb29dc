"""What release 0.1.0 stored is opened, gone on with once that is on record, verified and exported as it did then."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dtrbandit as dtr
from dtrbandit.cli import app
from dtrbandit.cli import trial as commands
from dtrbandit.environments import Synthetic
from dtrbandit.storage import upgrade_tables
from dtrbandit.trial import Ask, Head, Taken
from exit_code import exit_code
from extras import needed
from serving.served import Served
from stored_fixtures import FOLDER, answers_of, as_told, expected, lines_of, of_this_release, slug, tell_again, unpacked

LOGS = sorted(path.name.removesuffix(".jsonl.gz") for path in FOLDER.glob("logs/*.jsonl.gz"))
TRIALS: dict[str, dict[str, Any]] = expected("trials.json")
KINDS = {
    "ArmClosed", "Assigned", "Completed", "Corrected", "Ended", "Enrolled", "Held", "Opened", "Overridden", "Released",
    "Responded", "Taught", "Unblinded", "Upgraded", "Voided", "Withdrawn",
}  # fmt: skip


# -- logs of sessions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOGS)
def test_a_log_is_read_and_written_again_byte_for_byte(name: str, tmp_path: Path) -> None:
    file = unpacked(f"logs/{name}.jsonl.gz", tmp_path)

    dtr.write_log(tmp_path / "again", dtr.read_log(file))

    assert (tmp_path / "again").read_bytes() == file.read_bytes()


@pytest.mark.parametrize("name", LOGS)
def test_a_session_resumes_and_decides_as_it_did(name: str, tmp_path: Path) -> None:
    session, then = dtr.Session.resume(log_of(name, tmp_path)), expected(f"logs/{name}.json")

    go_on(session)
    answers = tell_again(session, then["calls"])

    assert answers == answers_of(then["calls"])
    assert coefficients(session) == then["coefficients"]


@pytest.mark.parametrize("name", LOGS)
def test_a_second_session_follows_the_tail_and_decides_the_same(name: str, tmp_path: Path) -> None:
    log, then = log_of(name, tmp_path), expected(f"logs/{name}.json")
    cut = next(place for place in range(len(log) // 2, len(log)) if type(log[place]).__name__ != "Assigned")
    session = dtr.Session.resume(log[:cut])

    session.follow(log[cut:])

    assert list(session.log) == log
    go_on(session)
    assert tell_again(session, then["calls"]) == answers_of(then["calls"])


@pytest.mark.parametrize("name", [name for name in LOGS if name != "upgraded"])
def test_every_decision_of_a_log_follows_from_its_facts(name: str, tmp_path: Path) -> None:
    """None of these logs has what numerics 3 decides otherwise."""
    dtr.verify(of_this_release(log_of(name, tmp_path)))


@pytest.mark.parametrize("name", LOGS)
def test_what_earlier_numerics_decided_is_left_to_their_release(name: str, tmp_path: Path) -> None:
    with pytest.raises(dtr.LogError, match=r"has numerics 3 here;.* numerics 2: verify them by release 0\.1\.0"):
        dtr.verify(log_of(name, tmp_path))


@pytest.mark.parametrize("name", [name for name in LOGS if name != "ended"])
def test_a_log_decides_nothing_before_the_upgrade_is_on_record(name: str, tmp_path: Path) -> None:
    session = dtr.Session.resume(log_of(name, tmp_path))

    with pytest.raises(dtr.LogError, match=r"use dtrbandit release 0\.1\.0, or record that this release goes on"):
        tell_again(session, expected(f"logs/{name}.json")["calls"])


def test_there_is_a_fact_of_every_kind_in_logs_and_in_the_database(tmp_path: Path, database: str) -> None:
    logs = {type(event).__name__ for name in LOGS for event in log_of(name, tmp_path)}
    stored = set()
    for name in TRIALS:
        with dtr.Trial.open(name, storage=database) as trial:
            stored |= {type(event).__name__ for event in trial.session_log()}

    assert logs == stored == KINDS


def go_on(target: dtr.Session | dtr.Trial) -> None:
    """Put on record that this release decides from here on; what has ended needs no more decisions."""
    with suppress(dtr.ProtocolError):
        if isinstance(target, dtr.Trial):
            target.upgrade(actor="lead", reason="release 0.1.0 is gone")
        else:
            target.upgrade(reason="release 0.1.0 is gone")


def log_of(name: str, folder: Path) -> list[Any]:
    return dtr.read_log(unpacked(f"logs/{name}.jsonl.gz", folder))


def coefficients(session: dtr.Session) -> list[list[object]] | None:
    try:
        return [list(each) for each in session.coefficients()]
    except dtr.ProtocolError:  # this policy estimates nothing
        return None


# -- databases -----------------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> str:
    """The address of a copy of the SQLite database."""
    return f"sqlite:///{unpacked('trial.db.gz', tmp_path)}"


@pytest.fixture
def server(postgres: str, tmp_path: Path) -> str:
    """The address of the same in PostgreSQL, brought up to this release."""
    psycopg = needed("psycopg")
    with psycopg.connect(postgres) as connection:
        connection.execute("\n".join(lines_of("postgres.sql.gz")).encode())
    upgrade_tables(postgres, tmp_path / "before.db")
    return postgres


def require_same_records(trial: dtr.Trial) -> None:
    """Demand that a trial has all that was stored, byte for byte, and stands where it stood."""
    then, records = TRIALS[trial.name], f"records/{slug(trial.name)}"
    assert [f"{stored.hash} {stored.text.decode()}" for stored in trial.stored()] == lines_of(f"{records}.txt.gz")
    assert [record.text for record in trial.rehearsal()] == lines_of(f"{records}.rehearsal.txt.gz")
    assert f"{trial.head.sequence}:{trial.head.hash}" == then["head"]
    assert (trial.phase, trial.locked, trial.in_flight) == (then["phase"], then["locked"], then["in_flight"])


def require_same_decisions(trial: dtr.Trial) -> None:
    """Demand that a trial goes on as it did."""
    calls = TRIALS[trial.name]["calls"]
    go_on(trial)
    assert tell_again(trial, calls) == answers_of(calls)


@pytest.mark.parametrize("name", TRIALS)
def test_a_trial_opens_and_goes_on_as_it_did(name: str, database: str) -> None:
    with dtr.Trial.open(name, storage=database) as trial, dtr.Trial.open(name, storage=database) as other:
        require_same_records(trial)
        require_same_decisions(trial)

        assert other.head == trial.head  # it follows
        assert trial.verify(head_of(name)).ok


@pytest.mark.parametrize("name", TRIALS)
def test_a_trial_is_verified_by_the_command(name: str, database: str) -> None:
    assert exit_code(commands.verify, name, against=TRIALS[name]["head"], storage=database) == 0


def test_a_record_that_was_changed_is_found(database: str) -> None:
    with sqlite3.connect(database.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE records SET text = replace(text, 'nurse A', 'nurse B') WHERE sequence = 20")
    connection.close()

    assert exit_code(commands.verify, "live", against=None, storage=database) == commands.WRONG


def test_all_trials_are_there(database: str) -> None:
    assert dtr.Trial.names(database) == list(TRIALS)


def head_of(name: str) -> Head:
    sequence, _, known = TRIALS[name]["head"].partition(":")
    return Head(int(sequence), known)


def require_idempotent_replies(storage: str) -> None:
    """Demand that requests under their keys get the recorded replies, and that other content is refused."""
    then = expected("requests.json")
    with dtr.Trial.open(then["trial"], storage=storage) as trial:
        for each in then["requests"]:
            command = getattr(dtr, each["command"])
            same = Ask(command(**each["fields"]), "nurse A", each["key"], each["owner"])
            (reply,) = trial.take([same])
            assert isinstance(reply, Taken)
            assert (reply.repeated, as_told(reply.decision)) == (True, each["decision"])
            assert [type(fact).__name__ for fact in reply.facts] == each["facts"]
            (refused,) = trial.take([same._replace(command=dtr.Hold("another request"))])
            assert isinstance(refused, dtr.ProtocolError)
        assert trial.head == head_of(then["trial"])  # nothing was written


def test_requests_under_idempotency_keys_get_their_replies(database: str) -> None:
    require_idempotent_replies(database)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A service on a copy of the SQLite database."""
    needed("starlette")
    needed("uvicorn")
    unpacked("trial.db.gz", tmp_path)
    service = Served(tmp_path)
    yield service
    service.stop()


def test_keys_still_open_what_they_opened(served: Served) -> None:
    for label, then in expected("keys.json").items():
        trials, keys = (served.get(path, key=then["key"]) for path in ("/trials", "/keys"))

        if then["valid"]:
            assert trials.json == {"trials": sorted(TRIALS) if then["trial"] is None else [then["trial"]]}, label
            assert keys.status == (200 if then["role"] == "administrator" else 403), label
        else:
            assert (trials.status, keys.status) == (401, 401), label
    asked, site = expected("requests.json")["requests"][0], expected("keys.json")["site"]["key"]
    body = {name: asked["fields"][name] for name in ("unit", "context")}
    again = served.post("/trials/live/units", body, key=site, headers={"Idempotency-Key": asked["key"]})
    assert again.json == {"unit": "k1", "stage": "first", "arm": asked["decision"]["arm"]}
    head = served.get("/trials/live/head", key=expected("keys.json")["administrator"]["key"]).json
    assert f"{head['sequence']}:{head['hash']}" == TRIALS["live"]["head"]  # nothing was written


def test_a_backup_is_restored_whole(tmp_path: Path) -> None:
    backup, target = unpacked("backup.db.gz", tmp_path), f"sqlite:///{tmp_path}/restored.db"

    names = dtr.Trial.restore(backup, target)

    assert names == list(TRIALS)
    for name in names:
        with dtr.Trial.open(name, storage=target) as trial:
            require_same_records(trial)


def test_a_server_goes_on_as_it_did(server: str) -> None:
    assert dtr.Trial.names(server) == list(TRIALS)
    require_idempotent_replies(server)
    for name in TRIALS:
        with dtr.Trial.open(name, storage=server) as trial:
            require_same_records(trial)
            require_same_decisions(trial)
            assert trial.verify(head_of(name)).ok


# -- exports, studies, replays, files that people write ------------------------------------------------------------


@pytest.mark.parametrize("name", ["live", "ended", "random"])
def test_an_export_is_the_one_that_was_written(name: str, database: str, tmp_path: Path) -> None:
    with dtr.Trial.open(name, storage=database) as trial:
        for kind in ("csv", "jsonl", "parquet"):
            trial.export(tmp_path / f"units.{kind}")

    for kind in ("csv", "jsonl"):
        assert (tmp_path / f"units.{kind}").read_bytes() == (FOLDER / f"exports/{name}.{kind}").read_bytes()
    now, then = pd.read_parquet(tmp_path / "units.parquet"), pd.read_parquet(FOLDER / f"exports/{name}.parquet")
    pd.testing.assert_frame_equal(now, then, check_exact=True)


def loaded(name: str, folder: Path) -> dtr.Study:
    with zipfile.ZipFile(FOLDER / f"studies/{name}.zip") as file:
        file.extractall(folder / name)
    return dtr.load_study(folder / name)


@pytest.mark.parametrize("name", ["regret", "outcomes"])
def test_a_study_is_loaded_with_the_same_tables(name: str, tmp_path: Path) -> None:
    study, then = loaded(name, tmp_path), expected(f"studies/{name}.json")

    assert [list(study.policies), study.horizon, list(study.paths)] == [
        then["policies"], then["horizon"], then["paths"]
    ]  # fmt: skip
    for policy in study.policies:
        assert study.arms[policy].tolist() == then["arms"][policy]
        assert np.array_equal(study.rewards[policy], np.array(then["outcomes"][policy], dtype=float), equal_nan=True)
    if "regret" in then:
        assert study.regret(at=[10, study.horizon]).to_dict("list") == then["regret"]


@pytest.mark.filterwarnings("ignore::dtrbandit.policies.UnscaledOutcomes")
def test_a_study_of_other_numerics_gets_no_more_paths_and_comes_out_the_same_anew(tmp_path: Path) -> None:
    study = loaded("regret", tmp_path)
    policies = {
        "DTRB": dtr.DTRBandit(q=1, delta=0.5),
        "Greedy": dtr.Greedy(floor=0.05),
        "LSVI": dtr.LSVIUCB(beta=0.5),
    }

    with pytest.raises(dtr.DesignError, match="numerics is 2 there and 3 here"):
        dtr.simulate(Synthetic(), policies, horizon=60, paths=4, seed=1, resume=study)

    anew = dtr.simulate(Synthetic(), policies, horizon=60, paths=3, seed=1)
    require_same_paths(anew, study)


def require_same_paths(one: dtr.Study, other: dtr.Study) -> None:
    """Demand the same arms and outcomes."""
    assert list(one.policies) == list(other.policies)
    for policy in one.policies:
        assert np.array_equal(one.arms[policy], other.arms[policy])
        assert np.array_equal(one.rewards[policy], other.rewards[policy], equal_nan=True)


@pytest.mark.filterwarnings("ignore::dtrbandit.policies.UnscaledOutcomes")
def test_a_study_file_describes_the_same_study(tmp_path: Path) -> None:
    words = ["simulate", FOLDER / "studies/study.toml", "--out", tmp_path / "study", "--jobs", "1"]

    result = CliRunner().invoke(app, list(map(str, words)))

    assert result.exit_code == 0, result.output
    require_same_paths(dtr.load_study(tmp_path / "study"), loaded("regret", tmp_path))


@pytest.mark.filterwarnings("ignore::dtrbandit.evaluation.EqualWeights")
def test_a_replay_gives_the_tables_that_were_written(tmp_path: Path) -> None:
    words = [
        "replay", FOLDER / "exports/random.csv", FOLDER / "replay/design.toml", "--arms", "first,second", "--outcome",
        "outcome", "--unit", "unit", "--equal", "--horizon", 12, "--paths", 3, "--jobs", 1,
        "--policy", "DTRBandit(q=1, delta=0.5)", "--policy", "Greedy()", "--out", tmp_path,
    ]  # fmt: skip

    result = CliRunner().invoke(app, list(map(str, words)))

    assert result.exit_code == 0, result.output
    for table in ("replay.csv", "differences.csv"):
        assert (tmp_path / table).read_text() == (FOLDER / "replay" / table).read_text()


@pytest.mark.parametrize("name", expected("toml/expected.json")["designs"])
def test_a_design_file_is_the_design_that_wrote_it(name: str) -> None:
    file = FOLDER / f"toml/{slug(name)}.toml"

    design = dtr.Design.from_toml(file)

    assert design.to_toml() == file.read_text()
    assert json.loads(json.dumps(design.to_dict())) == expected("toml/expected.json")["designs"][name]


def test_a_trial_file_creates_the_trial_that_it_created(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/trial.db"

    commands.create(FOLDER / "toml/trial.toml", storage, "lead")

    with dtr.Trial.open("depression", storage=storage) as trial:
        (record,) = lines(trial)
    opened = record["event"]
    assert {"design": opened["design"], "policy": opened["policy"]} == expected("toml/expected.json")["trial"]


def lines(trial: dtr.Trial) -> list[dict[str, Any]]:
    return [json.loads(stored.text) for stored in trial.stored()]
