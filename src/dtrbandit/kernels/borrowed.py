"""Arrays that Python lends to kernels: a table of addresses in, one pointer on, whatever their number.

An array object costs an entry 0.1 µs to unpack; a table of the addresses of arrays is one array. Passing
dozens of arrays by value from kernel to kernel, and counting references to each, costs most of the compilation and
more time than the arithmetic; so an entry opens the table once, and the kernels it calls find the arrays by name
behind a pointer. Nothing is counted: whoever makes a table keeps its arrays alive.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import as_dtype
from numpy.typing import NDArray


def addresses(arrays: Sequence[NDArray[Any]], like: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return where arrays lie, the address and the shape of each.

    They must have the types of those in ``like`` and be writable, since nothing stops a kernel from writing.
    """
    table: list[int] = []
    for array, example in zip(arrays, like, strict=True):
        if (array.dtype, array.ndim) != (example.dtype, example.ndim):
            raise TypeError(f"found {array.dtype} of {array.ndim} axes, expected {example.dtype} of {example.ndim}")
        if not array.flags.carray:
            raise TypeError("found an array that is read-only or not laid out row by row, expected one to write into")
        table += [array.__array_interface__["data"][0], *array.shape]
    return np.array(table, dtype=np.int64)


def opener(example: tuple[NDArray[Any], ...], *, after: tuple[NDArray[Any], ...] = ()) -> Any:
    """Return what opens a table inside an entry: a pointer to arrays named and typed as in the example.

    The pointer dies with the entry. ``after`` is like the arrays that come before these in the table.
    """
    opened = Borrowed(numba.typeof(example))
    start = sum(1 + array.ndim for array in after)

    @intrinsic
    def open_table(_typing_context: Any, table: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words = make_array(signature.args[0])(context, builder, arguments[0]).data
            views, place = [], start
            for kind in opened.arrays:
                entry = [builder.load(cgutils.gep_inbounds(builder, words, place + k)) for k in range(1 + kind.ndim)]
                views.append(_view(context, builder, kind, entry[0], entry[1:]))
                place += 1 + kind.ndim
            return cgutils.alloca_once_value(builder, context.make_tuple(builder, opened.arrays, views))

        return opened(table), build

    return open_table


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

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]  # numba's is NotImplemented
        """Return the type of an array."""
        return kind.arrays[kind.arrays.fields.index(name)] if name in kind.arrays.fields else None


@lower_getattr_generic(Borrowed)
def load(_context: Any, builder: Any, kind: Borrowed, pointer: Any, name: str) -> Any:
    """Load an array."""
    return builder.load(cgutils.gep_inbounds(builder, pointer, 0, kind.arrays.fields.index(name)))


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
