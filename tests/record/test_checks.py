"""What rules have in common: decisions that a log can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.record.checks import is_usual, what_is_wrong
from dtrbandit.record.values import Values


@given(
    st.tuples(
        st.sampled_from(["greedy", "", None, 3]),
        st.sampled_from([None, 0.0, 0.5, 1.0, 1.5, math.nan, 1, "1"]),
        st.sampled_from([{}, {"ssri": 1.0, "other": None}, {"ssri": math.inf}, {"x": 1.0}, None, {"ssri": 1}]),
        st.sampled_from([Values(("ssri", "other"), (1.0, None)), Values(("x",), (1.0,)), {"other": 2.0}]),
        st.sampled_from([("ssri",), (), ("x",), ["ssri"], "ssri", None]),
    )
)
def test_a_decision_is_refused_exactly_where_a_log_could_not_hold_it(parts: tuple[Any, ...]) -> None:
    reason, propensity, tilde, hat, contenders = parts
    arms = ("ssri", "other")

    decision = dtr.Decision("u", 1, "first", "ssri", *parts)
    wrong = what_is_wrong(decision, arms)

    fits = [
        isinstance(reason, str) and reason != "",
        propensity is None or (isinstance(propensity, float) and 0 <= propensity <= 1),
        isinstance(contenders, tuple) and set(contenders) <= set(arms),
        *(
            isinstance(each, Mapping)
            and set(each) <= set(arms)
            and all(q is None or (isinstance(q, float) and math.isfinite(q)) for q in each.values())
            for each in (tilde, hat)
        ),
    ]
    names = ["the reason", "the propensity", "the contenders", "q_tilde", "q_hat"]
    assert wrong is None if all(fits) else str(wrong).startswith(names[fits.index(False)])
    assert wrong is None or not is_usual(decision, arms)
