"""How machine code comes to a process, each told in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dtrbandit.errors import DesignError
from dtrbandit.kernels import supply, triangular
from kernels.small_package import TELL, WAIT, SmallPackage, create

JOIN = "supplier.SUPPLIER._thread.join()\n"
NO_CHILD = "def refuse(*_, **__):\n    raise AssertionError('a child')\n\n\nsupplier.start_child = refuse\n"


@pytest.fixture
def small(tmp_path: Path) -> SmallPackage:
    return create(tmp_path)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> SmallPackage:
    """Return a package whose cache is filled; tests must leave it so."""
    small = create(tmp_path_factory.mktemp("filled"))
    assert small.run(WAIT + TELL)[0] == "11 True"
    return small


# -- in the background ---------------------------------------------------------------------------------------


def test_machine_code_takes_over_in_the_background(small: SmallPackage) -> None:
    output, errors = small.run("supply.begin()\n" + TELL + JOIN + TELL)

    assert output.split("\n") == ["11 False", "11 True"]
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


# -- a cache that cannot be used -----------------------------------------------------------------------------


def test_an_unwritable_cache_leaves_kernels_plain_and_is_said_once(small: SmallPackage) -> None:
    small.base.write_text("a file where a folder should be")

    output, errors = small.run("supply.begin()\n" + JOIN + "supplier.SUPPLIER.asked = 0\nsupply.begin()\n" + TELL)

    assert output == "11 False"
    assert errors.count("kernels run as plain Python") == 1
    assert "cannot be written" in errors


def test_who_waits_gets_machine_code_even_without_a_cache(small: SmallPackage) -> None:
    small.base.write_text("a file where a folder should be")

    assert small.run(WAIT + TELL)[0] == "11 True"


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


# -- waiting -------------------------------------------------------------------------------------------------


def test_who_waits_is_told_what_for(small: SmallPackage) -> None:
    assert "compiling kernels for a test, about" in small.run(WAIT)[1]


def test_loading_is_silent(filled: SmallPackage) -> None:
    however_slow = "supplier.SECONDS_OF_SILENCE = 1e9\n"

    assert filled.run(however_slow + WAIT + TELL) == ("11 True", "")


def test_work_that_is_done_before_the_compiler_does_not_wait(small: SmallPackage, filled: SmallPackage) -> None:
    ask = NO_CHILD + "supplier.SECONDS_BEFORE = 1e6\nprint(supply.require('a test', seconds={}))\n" + TELL

    assert small.run(ask.format(5.0))[0] == "False\n11 False"
    assert filled.run(ask.format(0.1))[0] == "False\n11 False"
    assert filled.run(ask.format(5.0))[0] == "True\n11 True"


def test_a_worker_on_a_machine_without_machine_code_makes_it(small: SmallPackage) -> None:
    output, _ = small.run(NO_CHILD + "supply.become_worker()\nsupply.ensure([caller])\n" + TELL)

    assert output == "11 True"
    assert len(small.files()) == 1


# -- the environment variable --------------------------------------------------------------------------------


def test_plain_never_compiles(filled: SmallPackage) -> None:
    code = "supply.begin()\n" + WAIT + TELL + "import sys\nprint('numba' in sys.modules)"

    assert filled.run(code, DTRBANDIT_KERNELS="plain")[0] == "11 False\nFalse"
    assert filled.run(code, NUMBA_DISABLE_JIT="1")[0] == "11 False\nFalse"


def test_compiled_waits_at_once(filled: SmallPackage) -> None:
    assert filled.run("supply.begin()\n" + TELL, DTRBANDIT_KERNELS="compiled")[0] == "11 True"


def test_another_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DTRBANDIT_KERNELS", "fast")

    with pytest.raises(DesignError, match=r"'fast'.*'auto'.*'plain'.*'compiled'"):
        supply.mode()


# -- the package itself --------------------------------------------------------------------------------------

FIRST_DECISION = """
import sys, threading
importing = set()

class Watch:
    def find_spec(self, name, *_):
        if name in ("numba", "llvmlite"):
            importing.add(threading.current_thread() is threading.main_thread())

sys.meta_path.insert(0, Watch())
import dtrbandit as dtr
session = dtr.Session(dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")]), dtr.Greedy())
print(session.enroll("u1", {"x": 1.0}).arm, True in importing)
"""


@pytest.mark.parametrize("mode", ["auto", "plain"])
def test_a_first_decision_does_not_wait_for_numba(mode: str) -> None:
    environment = {**os.environ, "DTRBANDIT_KERNELS": mode}

    done = subprocess.run([sys.executable, "-c", FIRST_DECISION], env=environment, capture_output=True, text=True)

    assert (done.stdout, done.stderr) == ("a False\n", "")


def test_numba_functions_of_no_module_compile_beside_the_package() -> None:
    import numba

    def double(x: float) -> float:
        return 2 * x

    double.__module__ = None  # type: ignore[assignment]  # as functions made by exec have it
    compiled: Any = numba.njit(double)

    assert compiled(2.0) == 4.0


def test_plain_kernels_stay_plain_functions() -> None:
    rotation: Any = triangular.rotation

    assert type(rotation).__name__ == "function"
    assert rotation(3.0, 4.0)[2] == 5.0
