"""Kernels that only kernels call become machine code within their callers, and nowhere else."""

from __future__ import annotations

from typing import Any

from dtrbandit.kernels.compile import Entry, kernel
from dtrbandit.kernels.machine import Workshop, install
from dtrbandit.kernels.parts import Part, PartCompiler


@kernel
def part(x: float) -> float:
    return x * x + 1.0


@kernel(entry="float64")
def whole(x: float) -> float:
    return part(x) + part(-x)


def test_a_part_has_no_machine_code_and_its_caller_runs() -> None:
    workshop, entry = Workshop(), Entry(whole.plain, "float64")
    result: Any = workshop.compile(entry)
    dispatcher = workshop._replaced[id(part)]
    (of_part,) = dispatcher.overloads.values()

    install(entry, result)

    assert entry.call(3.0) == 20.0
    assert isinstance(of_part.library, Part)
    assert not isinstance(result.library, Part)
    assert of_part.library.codegen is of_part.library


def test_only_parts_are_compiled_as_parts() -> None:
    workshop = Workshop()

    assert workshop._replaced[id(part)].targetoptions["no_cpython_wrapper"]
    assert workshop._replaced[id(part)]._compiler.pipeline_class is PartCompiler
