"""The thread that brings machine code, each told in processes of their own."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from dtrbandit.kernels.lock import Lock
from kernels.small_package import CALLER, JOIN, NO_CHILD, TELL, WAIT, SmallPackage

pytestmark = pytest.mark.full  # each starts processes that compile


def test_machine_code_takes_over_in_the_background(small: SmallPackage) -> None:
    output, errors = small.run("supply.begin()\n" + TELL + JOIN + TELL)

    assert output.split("\n") == ["11 False", "11 True"]
    assert errors == ""


TOLD_FIRST = """start = supplier.start_child


def told(cache, *, first, background):
    print(list(first), background)
    return start(cache, first=first, background=background)


supplier.start_child = told
"""


def test_the_background_compiles_first_what_verbs_call(small: SmallPackage) -> None:
    output, errors = small.run(TOLD_FIRST + "supply.begin(first=[caller])\n" + JOIN + TELL)

    assert output.split("\n") == ["[('dtrbandit.caller', 'caller')] True", "11 True"]
    assert errors == ""


def test_two_processes_at_once_compile_once(small: SmallPackage) -> None:
    both = [small.start("supply.begin()\n" + JOIN + TELL) for _ in range(2)]

    assert [process.communicate()[0].strip() for process in both] == ["11 True", "11 True"]
    assert small.stored() == 1


@pytest.mark.parametrize(
    "mark", ["supply.become_worker()", "import multiprocessing.process as p; p._parent_process = p"]
)
def test_a_worker_never_starts_a_child(small: SmallPackage, mark: str) -> None:
    output, errors = small.run(NO_CHILD + mark + "\nsupply.begin()\n" + JOIN + TELL)

    assert (output, errors) == ("11 False", "")
    assert not small.base.exists()


def test_a_worker_loads_what_is_there(filled: SmallPackage) -> None:
    assert filled.run(NO_CHILD + "supply.become_worker()\nsupply.begin()\n" + JOIN + TELL)[0] == "11 True"


NEVER_DONE = """

import os
import time
from pathlib import Path


def fill(cache, names, *, report=None):
    Lock(Path(os.environ["STORED"] + f"-{os.getpid()}")).take()
    while True:
        time.sleep(1)


os.cpu_count = lambda: 2
"""


def until(found: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60  # seconds, however busy the machine is
    while not found():
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_those_who_compile_for_a_process_end_when_it_is_killed_and_the_lock_is_free(small: SmallPackage) -> None:
    """Each of them locks a file of its own, and is never done."""
    (small.folder / "dtrbandit" / "twin.py").write_text(CALLER)  # a second entry, for a helper
    with (small.folder / "dtrbandit" / "kernels" / "fill.py").open("a") as file:
        file.write(NEVER_DONE)

    def compiling() -> int:
        return sum(not Lock(file).is_free() for file in small.folder.glob("stored-*"))

    process = small.start("import dtrbandit.twin\n" + WAIT)
    until(lambda: compiling() == 2)
    (lock,) = (Lock(file) for file in small.base.rglob("lock"))
    assert not lock.is_free()

    process.kill()
    process.communicate()

    until(lambda: lock.is_free() and not compiling())


ENDS_IN_ORDER = """import subprocess, sys
lives = "from dtrbandit.kernels import child; child.end_with_starter(); open('lived', 'w').close()"
supplier.SUPPLIER._child = subprocess.Popen([sys.executable, "-c", lives], stdin=subprocess.PIPE, bufsize=0)
"""


def test_a_process_that_ends_in_order_lets_its_child_live_on(small: SmallPackage) -> None:
    assert small.run(ENDS_IN_ORDER) == ("", "")

    until((small.folder / "lived").exists)


def test_a_process_that_ends_at_once_ends_quietly(filled: SmallPackage) -> None:
    assert filled.run("supply.begin()\n" + TELL) == ("11 False", "")


FORK = """import os, time, warnings
warnings.simplefilter("ignore")  # Python's own about forks and threads
supplier.SECONDS_TO_FORK = 600.0  # however busy the machine is
supply.begin()
time.sleep(MOMENT)
pid = os.fork()
if pid:
    os.waitpid(pid, 0)
else:
    supply.begin()
    thread = supplier.SUPPLIER._thread
    thread is None or thread.join()  # none if the machine code was there before the fork
    print(caller.call(10), caller.compiled)
"""


@pytest.mark.parametrize("moment", [0.0, 0.65, 1.0])
def test_a_fork_brings_its_own_machine_code_whatever_the_thread_was_doing(filled: SmallPackage, moment: float) -> None:
    """From half a second on the thread imports numba, and with it modules that have hooks for forks of their own."""
    assert filled.run(f"MOMENT = {moment}\n" + FORK)[0] == "11 True"


def test_an_unwritable_cache_leaves_kernels_plain_and_is_said_once(small: SmallPackage) -> None:
    small.base.write_text("a file where a folder should be")

    output, errors = small.run("supply.begin()\n" + JOIN + "supplier.SUPPLIER.asked = 0\nsupply.begin()\n" + TELL)

    assert output == "11 False"
    assert errors.count("kernels run as plain Python") == 1
    assert "cannot be written" in errors


def test_a_damaged_file_is_made_anew(filled: SmallPackage) -> None:
    (file,) = filled.files()
    whole = file.stat().st_size
    file.write_bytes(file.read_bytes()[:1000])

    told, said = filled.run("supply.begin()\n" + JOIN + TELL)

    assert told == "11 True"
    assert said.count("\n") == said.count("a damaged file of machine code") == 1
    assert file.stat().st_size > whole / 2


def test_an_edited_kernel_in_another_file_is_never_served_stale(small: SmallPackage) -> None:
    assert small.run(WAIT + TELL)[0] == "11 True"

    small.write(value=4, added=2)

    assert small.run(WAIT + TELL)[0] == "42 True"


def test_sources_that_change_after_the_import_are_not_taken_over(small: SmallPackage) -> None:
    edit = "import pathlib\nleaf = pathlib.Path('dtrbandit/leaf.py')\n"
    edit += "leaf.write_text(leaf.read_text().replace('1', '100'))\n"

    output, errors = small.run(edit + "supply.begin()\n" + JOIN + TELL)

    assert output == "11 False"
    assert "have changed since it was imported" in errors
