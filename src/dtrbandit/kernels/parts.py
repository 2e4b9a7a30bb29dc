"""Kernels that only kernels call are parts of their callers, and become machine code only within these.

numba would optimise and translate each kernel on its own, and again within every kernel above it. That would be two
thirds of the compilation, for machine code that nobody runs.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder


class Part(JITCodeLibrary):
    """The code of a kernel, linked with what it calls and otherwise left for its callers to finish."""

    def _optimize_final_module(self) -> None:
        """Leave optimising to the callers."""

    def _finalize_final_module(self) -> None:
        """Leave machine code to the callers."""
        self._finalized = True

    @property
    def codegen(self) -> Part:
        """Itself: what numba asks of it is ``set_env``, and only machine code has an environment."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing."""


class PartCompiler(CompilerBase):
    """numba's compiler, which puts the code into a ``Part``."""

    def define_pipelines(self) -> list[Any]:
        """Return numba's own passes."""
        name = self.state.func_id.func_qualname
        self.state.library = Part(self.state.targetctx.codegen(), name)  # type: ignore[no-untyped-call]  # numba's
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]
