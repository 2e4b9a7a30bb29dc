"""Arrays that were stored and are to become the state of a policy: they are checked first.

Kernels trust the arrays of a state. So names, types and shapes are compared with those of a fresh state that has as
much room. Then each part looks at the numbers that its kernels use as indices
(``estimators/soundness.py``, and ``PolicyState.fault`` for what a policy keeps itself).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtrbandit.errors import LogError

Arrays = Mapping[str, NDArray[Any]]
CAPACITY, TREES = "observed.outcome", "observed.child"  # arrays whose length says for how many there is room
LISTS = ("closed", "excluded", TREES)  # as long as they happen to be


def refuse(fault: str) -> None:
    """Raise LogError if there is a fault."""
    if fault:
        raise LogError(
            f"arrays cannot be the state of this policy: {fault}; needed is what arrays() gave of the same policy and "
            "design in this release; else let the policy learn from the log again"
        )


def require_shapes(state: Any, arrays: Arrays) -> None:
    """Refuse arrays unless names, types and shapes are those of a state; ``state`` is fresh, and gets as much room."""
    fresh = state.arrays()
    if wrong := sorted(set(fresh) ^ set(arrays)):
        refuse(f"{wrong[0]!r} is {'missing' if wrong[0] in fresh else 'not among them'}")
    for name, array in fresh.items():
        found = arrays[name]
        if not isinstance(found, np.ndarray) or found.dtype != array.dtype or found.ndim != array.ndim:
            refuse(f"{name!r} must have {array.ndim} axes of {array.dtype}, found {_shown(found)}")
        if name in LISTS and found.shape[1:] != array.shape[1:]:
            refuse(f"{name!r} must have shape (…, {array.shape[1]}), found {found.shape}")
    capacity, nodes = len(arrays[CAPACITY]), len(arrays[TREES])
    state.make_room(max(capacity, 1), max(nodes, len(fresh[TREES])))
    state.observed.reserve(max(capacity, 1))
    roomy = state.arrays()
    for name, array in fresh.items():
        if name not in LISTS:
            least = (roomy if capacity else fresh)[name].shape
            refuse(_shape_fault(name, arrays[name].shape, least, grows_from=array.shape, grows_to=roomy[name].shape))


def _shape_fault(
    name: str, found: tuple[int, ...], least: tuple[int, ...], *, grows_from: tuple[int, ...], grows_to: tuple[int, ...]
) -> str:
    """Say what is wrong with a shape: an axis that grows with room may be longer than it must be, no other."""
    for size, needed, before, after in zip(found, least, grows_from, grows_to, strict=True):
        if size < needed or (size > needed and before == after):
            return f"{name!r} must have shape {least}, found {found}"
    return ""


def _shown(found: object) -> str:
    return f"{found.ndim} of {found.dtype}" if isinstance(found, np.ndarray) else type(found).__name__


def require_lists(state: Any, arrays: Arrays) -> None:
    """Refuse arrays that name closed or contraindicated arms, or copies of the tree, that are not there."""
    count, excluded = int(arrays["copies"]), arrays["excluded"]
    room = len(arrays[TREES]) // state.observed.nodes_of_tree
    if not 1 <= count < room:  # there is always room for one more
        refuse(f"'copies' must lie between 1 and {room - 1}, found {count}")
    if not _are_arms(state, arrays["closed"]):
        refuse("'closed' names an arm that is not there")
    if not _are_arms(state, excluded[:, 1:]) or ((excluded[:, 0] < 1) | (excluded[:, 0] >= count)).any():
        refuse("'excluded' names an arm or a copy of the tree that is not there")


def _are_arms(state: Any, pairs: NDArray[np.int64]) -> bool:
    stages, arms = pairs[:, 0], pairs[:, 1]
    if ((stages < 0) | (stages >= state.observed.stages)).any():
        return False
    return bool(((arms >= 0) & (arms < np.asarray(state.observed.arm_count)[stages])).all())


def require_sound(state: Any, arrays: Arrays) -> None:
    """Refuse a state in which a number that was loaded leads nowhere."""
    for part in state.parts().values():
        refuse(part.fault())
    sets = [state.closed, *state.copies]
    if len(state.copies) < int(arrays["copies"]) or any(tuple(sorted(set(pairs))) != pairs for pairs in sets):
        refuse("'closed' and 'excluded' must have each arm, and each set of arms, once and in order")
    refuse(_tree_fault(state.observed, len(state.copies)))
    refuse(state.fault())


def _tree_fault(seen: Any, copies: int) -> str:
    """Say which copy of the tree does not lead as the design does, or to nothing that is feasible."""
    child, following = np.asarray(seen.child), np.asarray(seen.following)
    in_use = copies * seen.nodes_of_tree
    used = child[:in_use].reshape(copies, *following.shape)
    starts = np.arange(copies)[:, None, None] * seen.nodes_of_tree
    as_designed = (used == -1) | ((following >= 0) & (used == following + starts))
    somewhere = (used >= 0).any(axis=2) == (following >= 0).any(axis=1)
    if not (as_designed.all() and somewhere.all() and (child[in_use:] == -1).all()):
        return "'observed.child' does not lead as the design does"
    highest = max(np.asarray(seen.nodes).max(initial=-1), np.asarray(seen.left).max(initial=-1))
    return "a unit stands in a copy of the tree that is not in use" if highest >= in_use else ""
