"""Parameters that are as if there were none are not said."""

from __future__ import annotations

import dtrbandit as dtr
from dtrbandit.policies.plain_values import policy_from_dict, policy_to_dict
from dtrbandit.policies.said import in_words, said


def test_a_parameter_is_left_out_with_the_value_that_changes_nothing_and_with_no_other() -> None:
    assert said(dtr.Greedy()) == {}
    assert said(dtr.Greedy(floor=0.1)) == {"floor": 0.1}
    assert "scale" not in said(dtr.LSVIUCB(beta=1.0))
    assert said(dtr.LSVIUCB(beta=1.0, scale=2.0))["scale"] == 2.0
    assert said(dtr.EpsilonGreedy(epsilon=0.0)) == {"epsilon": 0.0}  # 0 is said where it always was


def test_what_is_said_brings_the_policy_back() -> None:
    for policy in (dtr.Greedy(), dtr.Greedy(floor=0.1), dtr.LSVIUCB(beta=1.0), dtr.LSVIUCB(beta=1.0, scale=2.0)):
        assert policy_from_dict(policy_to_dict(policy)) == policy


def test_a_policy_is_written_as_python_would_read_it() -> None:
    assert in_words(dtr.Greedy()) == "Greedy()"
    assert in_words(dtr.Greedy(floor=0.25)) == "Greedy(floor=0.25)"
