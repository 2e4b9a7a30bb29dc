"""Arrays that an entry lends to the kernels it calls: one pointer, whatever their number.

Passing a tuple of dozens of arrays by value, and counting references to each of them at every call, costs most of
the compilation and more time than the arithmetic. An entry keeps its arrays alive until it returns, so that nothing
needs to be counted, and kernels can find them by name behind a pointer.
"""

from __future__ import annotations

import hashlib
from typing import Any

from numba.core import cgutils, types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model


class Borrowed(types.Type):
    """The type of a pointer to a named tuple of arrays."""

    def __init__(self, arrays: types.NamedTuple) -> None:
        self.arrays = arrays
        # The name of a type becomes part of the names of all functions that take it: short, or they fill pages.
        digest = hashlib.sha256(str(arrays).encode()).hexdigest()[:16]
        super().__init__(name=f"Borrowed{arrays.instance_class.__name__}{digest}")


@register_model(Borrowed)
class BorrowedModel(models.PrimitiveModel):
    """How it lies in memory: a pointer."""

    def __init__(self, manager: Any, kind: Borrowed) -> None:
        super().__init__(manager, kind, manager.lookup(kind.arrays).get_value_type().as_pointer())


@infer_getattr
class BorrowedAttributes(AttributeTemplate):
    """Which attributes it has: the arrays, by name."""

    key = Borrowed

    def generic_resolve(self, kind: Borrowed, name: str) -> types.Type | None:  # type: ignore[override]
        """Return the type of an array."""
        return kind.arrays[kind.arrays.fields.index(name)] if name in kind.arrays.fields else None


@lower_getattr_generic(Borrowed)
def load(context: Any, builder: Any, kind: Borrowed, pointer: Any, name: str) -> Any:
    """Load an array, as one that nobody counts."""
    place = kind.arrays.fields.index(name)
    stored = builder.load(cgutils.gep_inbounds(builder, pointer, 0, place))
    view = context.make_array(kind.arrays[place])(context, builder, stored)
    view.meminfo = cgutils.get_null_value(view.meminfo.type)
    view.parent = cgutils.get_null_value(view.parent.type)
    return view._getvalue()


@intrinsic
def borrow(_typing_context: Any, arrays: Any) -> Any:
    """Return a pointer to a named tuple of arrays, which lives as long as the kernel that calls this."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001  # numba calls it so
        return cgutils.alloca_once_value(builder, arguments[0])

    return Borrowed(arrays)(arrays), build
