"""Arrays of a state that something was done to, and what becomes of a session that goes on with them."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.kernels.arrays import Named
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.state import PolicyState
from dtrbandit.testing.policy_contract import THREE_STAGES, drive

ROUNDS, MORE = 45, 6
BAD_NUMBERS = (-(2**62), -4, -1, 0, 7, 100, 2**40)
Variant = tuple[str, Named]  # what was done, and the arrays


def eventful(policy: BuiltinPolicy) -> dtr.Session:
    """Return a session with delays, amendments, contraindications and a closed arm behind it."""
    session = dtr.Session(THREE_STAGES, policy, seed=3)
    drive(session, range(ROUNDS))
    return session


def misshapen(arrays: Named) -> Iterator[Variant]:
    """Give arrays that are missing, additional, of another type, or with more, fewer or other axes."""
    yield "more", {**arrays, "more": np.zeros(3)}
    yield "more.part", {**arrays, "learner.more": np.zeros(3)}
    for name, array in arrays.items():
        yield f"{name}: missing", {other: each for other, each in arrays.items() if other != name}
        for kind in (np.dtype(np.float64), np.dtype(np.int64), np.dtype(object), array.dtype.newbyteorder()):
            if kind != array.dtype:
                yield f"{name}: {kind}", {**arrays, name: np.zeros(array.shape, dtype=kind)}
        yield f"{name}: no array", {**arrays, name: array.tolist()}
        yield f"{name}: an axis more", {**arrays, name: array[None]}
        if array.ndim:
            yield f"{name}: an axis fewer", {**arrays, name: array.ravel() if array.ndim > 1 else np.array(array.sum())}


def resized(arrays: Named) -> Iterator[Variant]:
    """Give arrays with an axis that is longer or shorter than the others say."""
    for name, array in arrays.items():
        for axis in range(array.ndim):
            for fewer in {1, array.shape[axis]}:
                if array.shape[axis]:
                    shorter = np.take(array, range(array.shape[axis] - fewer), axis=axis)
                    yield f"{name}: axis {axis} shorter by {fewer}", {**arrays, name: shorter}
            shape = [size + (k == axis) for k, size in enumerate(array.shape)]
            longer = np.zeros(shape, dtype=array.dtype)
            longer[tuple(slice(size) for size in array.shape)] = array
            yield f"{name}: axis {axis} longer", {**arrays, name: longer}


def out_of_range(arrays: Named) -> Iterator[Variant]:
    """Give arrays whose whole numbers, one of them or all, are others."""
    for name, array in arrays.items():
        if array.dtype.kind in "iu" and array.size:
            limits = np.iinfo(array.dtype)
            for number in BAD_NUMBERS:
                if limits.min <= number <= limits.max:
                    yield f"{name}: {number} everywhere", {**arrays, name: np.full_like(array, number)}
                    for place in {0, array.size - 1}:
                        yield f"{name}: {number} at {place}", {**arrays, name: with_number(array, place, number)}


def with_number(array: NDArray[Any], place: int, number: int) -> NDArray[Any]:
    copy = array.copy()
    copy.ravel()[place] = number
    return copy.reshape(array.shape)


def not_finite(arrays: Named) -> Iterator[Variant]:
    """Give arrays whose numbers are not finite, or are large."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and array.size:
            for number in (np.nan, np.inf, -np.inf, 1e300):
                yield f"{name}: {number}", {**arrays, name: np.full_like(array, number)}


def tried(policy: BuiltinPolicy, variants: list[Variant]) -> Counter[str]:
    """Let a session go on with each of these; count what is refused, and what does no harm."""
    count: Counter[str] = Counter()
    kept = pickle.dumps(eventful(policy))
    for what, arrays in variants:
        try:
            state = PolicyState.from_arrays(policy, THREE_STAGES, arrays)
        except dtr.LogError:
            count["refused"] += 1
            continue
        except Exception as error:
            raise AssertionError(f"{policy!r}, {what}") from error
        count["taken"] += 1
        try:
            with np.errstate(all="ignore"):
                _go_on(pickle.loads(kept), state)
        except Exception as error:
            raise AssertionError(f"{policy!r}, {what}, taken") from error
    return count


def _go_on(session: dtr.Session, state: PolicyState) -> None:
    """Let a session go on with another state than its own: what it decides may be wrong."""
    session._belief.state = state
    try:
        drive(session, range(ROUNDS, ROUNDS + MORE))
        session.close_arm("second", "a", reason="harm")
        drive(session, range(ROUNDS + MORE, ROUNDS + MORE + 3))
    except dtr.DTRError:
        pass  # said in words


def all_tried(policy: BuiltinPolicy, kind: str) -> Counter[str]:
    """Try all arrays of one kind in this process."""
    arrays = eventful(policy)._belief.state.arrays()
    return tried(policy, list(KINDS[kind](arrays)))


KINDS = {"misshapen": misshapen, "resized": resized, "out of range": out_of_range, "not finite": not_finite}
