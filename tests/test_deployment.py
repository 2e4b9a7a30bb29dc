"""What the files for containers and the page about them say is true of this package."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from dtrbandit.cli import app
from extras import needed

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "docs/cli.md", "docs/deployment.md", "docs/live-trial.md"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE = (ROOT / "compose.yaml").read_text()


def commands_of(page: str) -> list[list[str]]:
    """Return the words of each command of ours in the code blocks of a page."""
    blocks = re.findall(r"```(?:sh|ini)\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    found = [re.search(r"(?:^|/|&& |= ?)dtrbandit ((?:[a-z]+ ?)+.*)$", line) for line in lines]
    return [shlex.split(re.split(r" &&| &|\|", match[1])[0], comments=True) for match in found if match]


def check(words: list[str]) -> None:
    """Refuse words that are no command, or that have an option which the command does not know."""
    command: Any = typer.main.get_command(app)
    rest = list(words)
    while hasattr(command, "commands"):
        name = rest.pop(0)
        assert name in command.commands, f"there is no command {name!r} of {words}"
        command = command.commands[name]
    known = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
    wrong = [word for word in rest if word.startswith("--") and word.partition("=")[0] not in known | {"--help"}]
    assert wrong == [], f"{words} has {wrong}, known are {sorted(known)}"


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_exists_with_its_options(page: str) -> None:
    found = commands_of(page)

    assert found
    for words in found:
        check(words)


def test_an_option_that_is_not_there_is_noticed() -> None:
    with pytest.raises(AssertionError, match="--colour"):
        check(["serve", "--colour", "red"])
    with pytest.raises(AssertionError, match="no command"):
        check(["trial", "forget"])


def test_the_image_and_its_composition_run_commands_that_exist() -> None:
    for text, name in ((DOCKERFILE, "CMD"), (COMPOSE, "command:")):
        (words,) = re.findall(rf"^ *{name} (\[.serve.*\])$", text, flags=re.MULTILINE)
        check(json.loads(words))
    assert 'ENTRYPOINT ["dtrbandit"]' in DOCKERFILE


def test_the_image_sets_variables_that_somebody_reads() -> None:
    code = "\n".join(file.read_text() for file in (ROOT / "src").rglob("*.py"))

    named = set(re.findall(r"DTRBANDIT_[A-Z_]+", DOCKERFILE + COMPOSE + (ROOT / "docs/deployment.md").read_text()))

    assert "DTRBANDIT_STORAGE" in named
    assert [name for name in named if name not in code] == []


def test_the_image_holds_what_a_build_needs() -> None:
    kept = [line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"]

    copied = [
        word
        for line in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, flags=re.MULTILINE)
        for word in line.split()
    ]

    assert sorted(kept) == sorted(copied)
    assert all((ROOT / name).exists() for name in kept)


def test_the_service_runs_as_nobody_in_particular() -> None:
    assert re.search(r"^USER (?!0|root)\d+$", DOCKERFILE, flags=re.MULTILINE)
    for setting in ("read_only: true", "cap_drop: [ALL]", "no-new-privileges:true", "127.0.0.1:8000:8000"):
        assert setting in COMPOSE


# -- the proxy ---------------------------------------------------------------------------------------------------

NGINX = shutil.which("nginx", path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")


def settings_of_nginx(folder: Path, port: int, service: int) -> str:
    """Return the settings of the page, without TLS, for ports of this machine and a folder of their own."""
    (page,) = re.findall(r"```nginx\n(.*?)```", (ROOT / "docs/deployment.md").read_text(), flags=re.DOTALL)
    plain = re.sub(r"^ *ssl_certificate.*\n", "", page, flags=re.MULTILINE)
    plain = plain.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};").replace(
        "127.0.0.1:8000", f"127.0.0.1:{service}"
    )
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    begin = f"daemon off; pid {folder}/pid; error_log {folder}/errors;\nevents {{}}\n"
    return f"{begin}http {{\naccess_log off;\n{places}{plain}}}\n"


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[tuple[Any, int]]:
    """A server, and the port of nginx in front of it."""
    needed("uvicorn")
    if NGINX is None:
        assert not os.environ.get("CI"), "continuous integration installs nginx (Makefile)"
        pytest.skip("nginx is not installed")
    from serving.edge import Edge, until

    edge = Edge(behind_proxy=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "nginx.conf").write_text(settings_of_nginx(tmp_path, port, edge.port))
    command = [NGINX, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"), "-e", str(tmp_path / "errors")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as nginx:
        until(lambda: nginx.poll() is not None or (tmp_path / "pid").exists())
        assert nginx.poll() is None, (tmp_path / "errors").read_text()
        yield edge, port
        nginx.terminate()
    edge.stop()


def test_the_proxy_of_the_page_drops_an_offered_upgrade_and_names_the_client(proxied: tuple[Any, int]) -> None:
    from serving.edge import NEXT, answered, asked

    edge, port = proxied
    offer = "Connection: Upgrade", "Upgrade: h2c", f"Content-Length: {len(NEXT)}"
    with socket.create_connection(("127.0.0.1", port), 30) as line:
        line.sendall(asked("POST", "/echo", *offer))
        line.sendall(NEXT)
        answer = answered(line)

    (headers,) = map(dict, edge.headers)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert edge.begun == ["/echo"]
    assert edge.read == [NEXT]
    assert b"upgrade" not in headers
    assert headers[b"connection"] == b"close"
    assert headers[b"x-forwarded-for"] == b"127.0.0.1"
