"""``dtrbandit serve``: which database it serves; ``--rehearse`` is alive at once, marked everywhere, leaves nothing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.cli.serve import serve_rehearsal
from extras import needed
from serving.served import TRIAL, WITHIN, Served
from serving.surfer import Shown, Surfer

EXAMPLE = Path(__file__).parents[2] / "examples/trial.toml"
Run = Callable[..., tuple[int, str, str]]


def test_a_file_has_one_worker(run: Run) -> None:
    needed("uvicorn")
    run("trial", "create", str(EXAMPLE))

    code, _, told = run("serve", "--workers", "2")

    assert (code, "2 workers need PostgreSQL" in told) == (2, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rehearse", "--storage", "sqlite:///mine.db"), "--rehearse does not go with --storage"),
        (("--rehearse", "--workers", "2"), "--rehearse does not go with --workers"),
        (("--pace", "5"), "--pace is for simulated patients"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    run: Run, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    code, out, told = run("serve", *options)

    assert (code, out) == (2, "")
    assert message in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_serve_says_which_database_it_made_and_what_it_serves(tmp_path: Path) -> None:
    needed("uvicorn")
    needed("jinja2")
    served, told = Served(tmp_path), []
    for _ in range(3):
        told.append(served.told)
        served.post("/trials", {"name": "pilot", **TRIAL} if len(told) == 2 else {})
        served.stop()
        served.start()
    served.stop()

    (made, advice, _, key, _), (empty, _), (known, listens) = told
    assert made.startswith(f"NEW DATABASE: there was none at {tmp_path}/trial.db, so an empty one was made there.")
    assert "--storage sqlite:////folder/trial.db" in advice
    assert key.strip() == served.key
    assert empty.startswith(f"{tmp_path}/trial.db holds no trial yet.")
    assert known == f"{tmp_path}/trial.db: 1 trial (pilot)."
    assert listens.startswith("Listening at")


def test_serve_says_what_is_missing_without_the_extra(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from dtrbandit.cli import app\n"
        f"app(['serve', '--storage', 'sqlite:///{tmp_path}/t.db'])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.returncode == 2
    assert "pip install 'dtrbandit[serve]'" in done.stderr


class Rehearsed:
    """A rehearsal in a child process, whose temporary files are in a folder."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "dtrbandit", "serve", "--rehearse", "--port", "0", "--pace", "20"]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", "TMPDIR": str(folder)}
        environment["DTRBANDIT_STORAGE"] = f"sqlite:///{folder}/trial.db"  # of this machine's own service
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=folder)
        assert self.process.stdout is not None
        self.keys: dict[str, str] = {}
        for line in self.process.stdout:
            if found := re.search(r"(\w+) +(dtrb_\S+)", line):
                self.keys[found[1]] = found[2]
            if found := re.search(r"Listening at http://127.0.0.1:(\d+)", line):
                self.port = int(found[1])
                break

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(WITHIN)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def units(text: str) -> int:
    found = re.search(r"units enrolled</dt><dd>([\d,]+)", text)
    return int(found[1].replace(",", "")) if found else 0


@pytest.fixture
def rehearsed(tmp_path: Path) -> Iterator[Rehearsed]:
    needed("uvicorn")
    needed("jinja2")
    running = Rehearsed(tmp_path)
    yield running
    if running.process.poll() is None:
        running.stop()


def first_page(surfer: Surfer) -> Shown:
    """Return the login page as soon as the server accepts connections."""
    ends = time.monotonic() + WITHIN
    while True:
        try:
            return surfer.get("/ui/login")
        except OSError:
            assert time.monotonic() < ends, "the rehearsal did not begin"
            time.sleep(0.05)


@pytest.mark.slow
def test_a_newcomer_sees_patients_come_and_nothing_is_left_behind(rehearsed: Rehearsed, tmp_path: Path) -> None:
    surfer = Surfer(rehearsed)  # type: ignore[arg-type]  # it has a port
    login = first_page(surfer)
    buttons = [form for form in login.forms() if form.fields.get("key")]

    (mine,) = [form for form in buttons if form.fields["key"] == rehearsed.keys["statistician"]]
    seen, ends = [units(surfer.post(mine).text)], time.monotonic() + WITHIN
    while len(set(seen)) < 3 and time.monotonic() < ends:
        shown = surfer.get("/ui/trials/depression")
        seen.append(units(shown.text))
        time.sleep(0.2)
    code = rehearsed.stop()

    assert len(buttons) == 4
    assert "REHEARSAL" in login.text
    assert "REHEARSAL" in shown.text
    assert len(set(seen)) >= 3
    assert seen == sorted(seen)
    assert code == 0
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("dtrbandit")] == []
    assert not (tmp_path / "trial.db").exists()


@pytest.mark.parametrize(("host", "behind_proxy"), [("127.0.0.1", True), ("0.0.0.0", False), ("0.0.0.0", True)])
def test_a_rehearsal_is_for_this_machine_alone(host: str, behind_proxy: bool) -> None:
    needed("uvicorn")
    needed("jinja2")

    with pytest.raises(dtr.DesignError, match=r"this machine|other machines"):
        serve_rehearsal(host=host, port=0, behind_proxy=behind_proxy, days_a_second=1.0)
