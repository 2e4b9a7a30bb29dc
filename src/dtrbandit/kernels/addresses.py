"""Arrays handed to kernels by address: one small table in place of dozens of array objects.

Unpacking an array object costs a kernel 0.1 µs and half a second of its compilation, for each array and each kernel
that Python calls. A table of addresses is one array; arrays opened from it are not counted either, which would cost
more than the arithmetic. Whoever makes a table keeps its arrays alive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import as_dtype
from numpy.typing import NDArray


def addresses(arrays: Sequence[NDArray[Any]], like: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return where arrays lie, the address and the shape of each; they must have the types of those in ``like``."""
    table: list[int] = []
    for array, example in zip(arrays, like, strict=True):
        if not array.flags.c_contiguous or (array.dtype, array.ndim) != (example.dtype, example.ndim):
            raise TypeError(f"found {array.dtype} of {array.ndim} axes, expected {example.dtype} of {example.ndim}")
        table += [array.__array_interface__["data"][0], *array.shape]
    return np.array(table, dtype=np.int64)


def opener(example: tuple[NDArray[Any], ...], *, after: tuple[NDArray[Any], ...] = ()) -> Any:
    """Return what opens a table inside a kernel, as a tuple of arrays of the example's types.

    ``after`` is like the arrays that come before them in the table.
    """
    opened = numba.typeof(example)
    start = sum(1 + array.ndim for array in after)

    @intrinsic
    def open_table(_typing_context: Any, table: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words = make_array(signature.args[0])(context, builder, arguments[0]).data
            views, place = [], start
            for kind in signature.return_type:
                entry = [builder.load(cgutils.gep_inbounds(builder, words, place + k)) for k in range(1 + kind.ndim)]
                views.append(_view(context, builder, kind, entry[0], entry[1:]))
                place += 1 + kind.ndim
            return context.make_tuple(builder, signature.return_type, views)

        return opened(table), build

    return open_table


def _view(context: Any, builder: Any, kind: Any, address: Any, shape: list[Any]) -> Any:
    """Build the array of a kind that lies at an address, row by row."""
    array = make_array(kind)(context, builder)
    itemsize = context.get_constant(types.intp, as_dtype(kind.dtype).itemsize)
    strides = [itemsize]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    data = builder.inttoptr(address, array.data.type)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
    return array._getvalue()
