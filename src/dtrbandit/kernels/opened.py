"""How machine code opens a table of arrays: it becomes a pointer, behind which kernels find the arrays by name.

Passing dozens of arrays by value from kernel to kernel, and counting references to each, costs most of the compilation
and more time than the arithmetic. An entry opens the table once. Nothing is counted: whoever makes a table keeps its
arrays alive.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numba
from numba.core import cgutils, types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import as_dtype

from dtrbandit.kernels.borrowed import Opener


def compiled_opener(opener: Opener[Any]) -> Any:
    """Return what opens a table inside an entry: a pointer to pointers to groups. They die with the entry."""
    groups = [Borrowed(numba.typeof(group)) for group in opener.example]
    opened = Borrowed(types.BaseTuple.from_types(groups, type(opener.example)))

    @intrinsic
    def open_table(_typing_context: Any, table: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words = make_array(signature.args[0])(context, builder, arguments[0]).data
            pointers, place = [], 0
            for group in groups:
                views = []
                for kind in group.members:
                    entry = [
                        builder.load(cgutils.gep_inbounds(builder, words, place + k)) for k in range(1 + kind.ndim)
                    ]
                    views.append(_view(context, builder, kind, entry[0], entry[1:]))
                    place += 1 + kind.ndim
                pointers.append(_laid_down(context, builder, group, views))
            return _laid_down(context, builder, opened, pointers)

        return opened(table), build

    return open_table


class Borrowed(types.Type):
    """The type of a pointer to a named tuple of arrays, or of such pointers."""

    def __init__(self, members: Any) -> None:
        self.members = members
        # The name of a type becomes part of the names of all functions that take it: short, or they fill pages.
        digest = hashlib.sha256(str(members).encode()).hexdigest()[:16]
        super().__init__(name=f"Borrowed{members.instance_class.__name__}{digest}")


@register_model(Borrowed)
class BorrowedModel(models.PrimitiveModel):
    """How it lies in memory: a pointer."""

    def __init__(self, manager: Any, kind: Borrowed) -> None:
        pointer = manager.lookup(kind.members).get_value_type().as_pointer()
        super().__init__(manager, kind, pointer)  # type: ignore[no-untyped-call]  # numba's


@infer_getattr
class BorrowedAttributes(AttributeTemplate):
    """Which attributes it has: its members, by name."""

    key = Borrowed

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]  # numba's is NotImplemented
        """Return the type of a member."""
        return kind.members[kind.members.fields.index(name)] if name in kind.members.fields else None


def load(_context: Any, builder: Any, kind: Borrowed, pointer: Any, name: str) -> Any:
    """Load a member."""
    return builder.load(cgutils.gep_inbounds(builder, pointer, 0, kind.members.fields.index(name)))


lower_getattr_generic(Borrowed)(load)


def _laid_down(context: Any, builder: Any, kind: Borrowed, members: list[Any]) -> Any:
    """Put members on the stack and return the pointer to them."""
    return cgutils.alloca_once_value(builder, context.make_tuple(builder, kind.members, members))


def _view(context: Any, builder: Any, kind: Any, address: Any, shape: list[Any]) -> Any:
    """Build the array that lies row by row at an address, as one that nobody counts."""
    array = make_array(kind)(context, builder)
    itemsize = context.get_constant(types.intp, as_dtype(kind.dtype).itemsize)
    strides = [itemsize]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    data = builder.inttoptr(address, array.data.type)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
    return array._getvalue()
