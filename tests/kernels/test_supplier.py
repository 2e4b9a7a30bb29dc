"""The thread that brings machine code, each told in processes of their own."""

from __future__ import annotations

import pytest

from kernels.small_package import JOIN, NO_CHILD, TELL, WAIT, SmallPackage


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


@pytest.mark.parametrize("moment", [0.0, 0.55, 0.65, 0.8, 1.0])
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
