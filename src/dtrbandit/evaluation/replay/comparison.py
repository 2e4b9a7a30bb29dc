"""Paired differences between policies that were replayed on the same cohort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.replay.result import Replay, interval_of
from dtrbandit.intervals import COHORTS, PATHS, mean_interval

if TYPE_CHECKING:
    import pandas as pd

Replays = Mapping[str, Replay] | Sequence[Replay]

SAME = {
    "drawn_from": "units, or weights",
    "seed": "seed",
    "once": "replace=",
    "horizon": "horizon",
    "paths": "number of paths",
}


def compare(replays: Replays) -> pd.DataFrame:
    """Return the differences between policies that were replayed on the same cohort, path by path.

    All policies were offered the same rows, and met the same resampled cohorts. So differences vary less than values,
    and their intervals are narrower than those of the values suggest.

    Parameters
    ----------
    replays
        By name, or a list named by policy: of the same cohort, weights, seed, horizon and number of paths.

    Returns
    -------
    A row per pair: policy, other, difference (policy less other), std_error, low, high, interval, interval_over,
    interval_of. ``interval`` says what an interval is worth; with too few paths there is none. Intervals are over
    cohorts where both have played the same number of them, else over paths through this cohort.

    Examples
    --------
    >>> import numpy as np
    >>> import dtrbandit as dtr
    >>> from dtrbandit.evaluation.replay.replay import replay
    >>> design, rng = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")]), np.random.default_rng(0)
    >>> x, arms = rng.normal(size=400), rng.integers(2, size=(400, 1))
    >>> outcome, units = np.where(arms[:, 0] == 1, x, -x), tuple(map(str, range(400)))
    >>> cohort = dtr.Cohort(design, units, ({"x": x},), arms, outcome, np.ones(400))
    >>> rules = {arm: dtr.FixedRegime(rule={"only": arm}) for arm in ("a", "b")}
    >>> found = compare({arm: replay(rule, cohort, horizon=100, paths=5) for arm, rule in rules.items()})
    >>> found[["policy", "other", "interval_over"]].iloc[0].tolist()
    ['a', 'b', 'over paths through this cohort']
    """
    import pandas as pd

    named = _named(replays)
    _require_same(named)
    return pd.DataFrame([_difference(one, other, named) for one, other in combinations(named, 2)])


def _difference(one: str, other: str, named: Mapping[str, Replay]) -> dict[str, object]:
    first, second = named[one], named[other]
    mine, others = first.cohort_averages, second.cohort_averages
    both = mine is not None and others is not None and mine.shape == others.shape
    resampled = mine - others if both and mine is not None and others is not None else None
    found = mean_interval(first.averages - second.averages, resampled)
    over = PATHS if resampled is None else COHORTS
    return {
        "policy": one,
        "other": other,
        "difference": float(found.estimate),
        "std_error": float(found.std_error),
        "low": float(found.low),
        "high": float(found.high),
        "interval": found.level,
        "interval_over": over,
        "interval_of": interval_of(over, optimistic=first.is_optimistic or second.is_optimistic, what="the difference"),
    }


def _named(replays: object) -> dict[str, Replay]:
    if isinstance(replays, Mapping):
        pairs = list(replays.items())
    elif isinstance(replays, Sequence) and not isinstance(replays, str):
        pairs = [(each.policy if isinstance(each, Replay) else "", each) for each in replays]
    else:
        raise DesignError(f"compare needs replays by name, or a list of them, found {shown(replays)}")
    for name, each in pairs:
        if not isinstance(each, Replay):
            raise DesignError(f"compare needs replays, such as dtr.replay gives; found {shown(each)} under {name!r}")
    if len({name for name, _ in pairs}) < max(len(pairs), 2):
        raise DesignError(
            f"compare needs two replays or more, under different names; found {[name for name, _ in pairs]}"
        )
    return dict(pairs)


def _require_same(named: Mapping[str, Replay]) -> None:
    """Refuse replays whose paths did not meet the same rows."""
    (first, one), *others = named.items()
    for name, other in others:
        for attribute, words in SAME.items():
            own, found = (
                len(each.rows) if attribute == "paths" else getattr(each, attribute) for each in (one, other)
            )  # fmt: skip
            if own != found:
                raise DesignError(
                    f"{first!r} and {name!r} cannot be compared path by path: they have another {words} "
                    f"({own} and {found}); replay both with the same"
                )
