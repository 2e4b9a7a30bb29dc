"""Parameters that are as if there were none are not said."""

from __future__ import annotations

import dtrbandit as dtr
from dtrbandit.policies.parameters import parameters_of, policy_repr
from dtrbandit.policies.plain_values import policy_from_dict, policy_to_dict


def test_a_parameter_is_left_out_with_the_value_that_changes_nothing_and_with_no_other() -> None:
    assert parameters_of(dtr.Greedy()) == {}
    assert parameters_of(dtr.Greedy(floor=0.1)) == {"floor": 0.1}
    assert "scale" not in parameters_of(dtr.LSVIUCB(beta=1.0))
    assert parameters_of(dtr.LSVIUCB(beta=1.0, scale=2.0))["scale"] == 2.0
    assert parameters_of(dtr.EpsilonGreedy(epsilon=0.0)) == {"epsilon": 0.0}  # 0 is said where it always was


def test_what_is_said_brings_the_policy_back() -> None:
    for policy in (dtr.Greedy(), dtr.Greedy(floor=0.1), dtr.LSVIUCB(beta=1.0), dtr.LSVIUCB(beta=1.0, scale=2.0)):
        assert policy_from_dict(policy_to_dict(policy)) == policy


def test_a_policy_is_written_as_python_would_read_it() -> None:
    assert policy_repr(dtr.Greedy()) == "Greedy()"
    assert policy_repr(dtr.Greedy(floor=0.25)) == "Greedy(floor=0.25)"
