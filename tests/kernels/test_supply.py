"""Who waits for machine code, and for how long, each told in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from dtrbandit.errors import DesignError
from dtrbandit.kernels import supply, triangular
from kernels.small_package import JOIN, NO_CHILD, TELL, WAIT, SmallPackage

pytestmark = pytest.mark.full  # each starts processes that compile


def test_who_waits_gets_machine_code_even_without_a_cache(small: SmallPackage) -> None:
    small.base.write_text("a file where a folder should be")

    assert small.run(WAIT + TELL)[0] == "11 True"


def test_who_waits_is_told_what_for(small: SmallPackage) -> None:
    assert "compiling kernels for a test, about" in small.run(WAIT)[1]


def test_loading_is_silent(filled: SmallPackage) -> None:
    however_slow = "supplier.SECONDS_OF_SILENCE = -1.0\n"

    assert filled.run(however_slow + WAIT + TELL) == ("11 True", "")


def test_work_that_is_done_before_the_compiler_does_not_wait(small: SmallPackage, filled: SmallPackage) -> None:
    ask = NO_CHILD + "supplier.SECONDS_BEFORE = 1e6\nprint(supply.require('a test', seconds={}))\n" + TELL

    assert small.run(ask.format(5.0))[0] == "False\n11 False"
    assert filled.run(ask.format(0.1))[0] == "False\n11 False"
    assert filled.run(ask.format(5.0))[0] == "True\n11 True"


PROVIDE = "print(supply.provide('a test', seconds={}))\n"
NUMBA = "import sys\nprint('numba' in sys.modules)\n"


def test_machine_code_for_other_processes_stays_in_the_cache(filled: SmallPackage) -> None:
    assert filled.run(NO_CHILD + PROVIDE.format(5.0) + TELL + NUMBA)[0] == "True\n11 False\nFalse"


def test_machine_code_for_other_processes_is_made_where_there_is_none(small: SmallPackage) -> None:
    assert small.run(PROVIDE.format(1e9))[0] == "True"
    assert len(small.files()) == 1


def test_other_processes_do_not_wait_for_the_compiler_either_if_they_are_done_before(small: SmallPackage) -> None:
    assert small.run(NO_CHILD + "supplier.SECONDS_BEFORE = 1e6\n" + PROVIDE.format(5.0))[0] == "False"


def test_other_processes_get_machine_code_even_without_a_cache(small: SmallPackage) -> None:
    small.base.write_text("a file where a folder should be")

    assert small.run(PROVIDE.format(1e9))[0] == "True"


def test_a_state_that_is_only_tried_begins_nothing(filled: SmallPackage) -> None:
    tried = "with supply.trying():\n    supply.begin()\nprint(supplier.SUPPLIER._thread)\n"

    assert filled.run(tried + "supply.begin()\n" + JOIN + TELL)[0] == "None\n11 True"


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
