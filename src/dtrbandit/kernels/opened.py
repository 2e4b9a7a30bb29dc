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
from numba.core.datamodel.registry import default_manager
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model
from numba.np.arrayobj import make_array

from dtrbandit.kernels.borrowed import LAYOUT, Opener

WORD = 8  # bytes


def compiled_opener(opener: Opener[Any]) -> Any:
    """Return what opens a table inside an entry: a pointer to pointers to groups. They die with the entry."""
    groups = [Borrowed(numba.typeof(group)) for group in opener.example]
    for kind in (kind for group in groups for kind in group.members):
        if (found := default_manager[kind]._fields) != LAYOUT:
            raise NotImplementedError(f"this numba lays arrays out as {found}; tables have {LAYOUT}")
    opened = Borrowed(types.BaseTuple.from_types(groups, type(opener.example)))

    @intrinsic
    def open_table(_typing_context: Any, table: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words = make_array(signature.args[0])(context, builder, arguments[0]).data
            pointers, place = [], 0
            for group in groups:
                arrays = context.get_value_type(group.members)
                size = context.get_abi_sizeof(arrays)
                pointers.append(cgutils.alloca_once(builder, arrays))
                source = cgutils.gep_inbounds(builder, words, place)
                # a copy on the stack: else any write to an array could change where the arrays lie, for all LLVM knows
                cgutils.raw_memcpy(builder, pointers[-1], source, context.get_constant(types.intp, size), 1, align=WORD)
                place += size // WORD
            return cgutils.alloca_once_value(builder, context.make_tuple(builder, opened.members, pointers))

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
