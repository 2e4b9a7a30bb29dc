"""The policies that come with the package, by name, and policies as plain values: a log goes on with its own only."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit import policies
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.policy import Choice, certain
from dtrbandit.policies.registry import (
    BUILTIN,
    examples,
    forces_plans,
    is_builtin,
    learns,
    policy_from_dict,
    policy_to_dict,
    require_same,
)
from dtrbandit.record import History, Opened
from dtrbandit.record.events import Fact

each_example = pytest.mark.parametrize("policy", examples(), ids=repr)


@dataclass(frozen=True, kw_only=True)
class Inherits(dtr.Greedy):
    """A policy that inherits from a built-in one, and may have rules of its own."""


class Own:
    """A policy of one's own."""

    def init(self, design: dtr.Design) -> None: ...

    def update(self, state: None, history: History, event: Any) -> None: ...

    def decide(self, state: None, history: History, u: float) -> Choice:  # noqa: ARG002
        return certain(0, history, "rule")


class Settled(Own):
    """A policy of one's own that learns nothing, and says so."""

    learns: ClassVar[bool] = False
    randomises: ClassVar[bool] = True


def test_all_built_in_policies_are_public() -> None:
    assert all(getattr(dtr, name) is getattr(policies, name) is kind for name, kind in BUILTIN.items())
    assert set(BUILTIN) <= set(dtr.__all__) & set(policies.__all__)


def test_every_class_that_is_built_in_is_in_the_registry() -> None:
    ours = {kind for kind in BuiltinPolicy.__subclasses__() if kind.__module__.startswith("dtrbandit.")}

    assert ours == set(BUILTIN.values())


def test_every_policy_has_examples_but_one_whose_rule_names_arms() -> None:
    without = {name for name, kind in BUILTIN.items() if not kind.examples()}

    assert {type(policy) for policy in examples()} == {kind for kind in BUILTIN.values() if kind.examples()}
    assert without == {"FixedRegime"}


@each_example
def test_an_example_is_built_in_and_can_be_written_down(policy: Any) -> None:
    assert is_builtin(policy)
    assert eval(repr(policy), dict(BUILTIN)) == policy


@each_example
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_an_example_fits_any_design_of_one_to_three_stages(policy: Any, stages: int) -> None:
    design = dtr.Design([dtr.Stage(f"s{m}", ("a", "b", "c")[: 2 + m % 2], f"1 + x{m}") for m in range(stages)])

    assert dtr.Session(design, policy).enroll("u", {"x0": 0.5}).arm in "ab"


def test_a_built_in_policy_decides_by_a_compiled_rule_unless_it_holds_a_function() -> None:
    assert is_builtin(dtr.FixedRegime(rule={"only": "a"}))
    assert not is_builtin(dtr.FixedRegime(rule=lambda _: "a"))
    assert not is_builtin(Inherits())
    assert not is_builtin(dtr.Greedy)
    assert not is_builtin(Own())


def test_policies_that_learn_nothing_are_known_and_any_other_may_learn() -> None:
    assert not learns(dtr.UniformRandom())
    assert not learns(dtr.FixedRegime(rule=lambda _: "a"))
    assert learns(dtr.Greedy())
    assert learns(Inherits())
    assert learns(Own())


def test_a_policy_of_ones_own_learns_unless_its_class_says_otherwise() -> None:
    inherits_from_one_that_does_not = type("Mine", (dtr.UniformRandom,), {})()
    says_so, changed = Settled(), Settled()
    changed.learns = True  # type: ignore[misc]  # as a parameter would

    assert learns(inherits_from_one_that_does_not)
    assert not learns(says_so)
    assert not learns(type("Finer", (Settled,), {})())
    assert learns(changed)
    assert {"learns", "randomises"}.isdisjoint(policy_to_dict(Own()))
    assert policy_to_dict(says_so).items() >= {"learns": False, "randomises": True}.items()


def test_a_log_from_before_policies_could_say_so_goes_on() -> None:
    session = dtr.Session(PLAIN, Settled())
    opened = session.log[0]
    assert isinstance(opened, Opened)
    old = {key: value for key, value in opened.policy.items() if key not in ("learns", "randomises")}

    assert old != opened.policy
    require_same(opened._replace(policy=old), PLAIN, Settled())


def test_policies_that_try_every_feasible_plan_are_known() -> None:
    assert forces_plans(dtr.DTRBandit(q=1, delta=1.0))
    assert forces_plans(dtr.EpsilonGreedy(epsilon=0.1))
    assert forces_plans(dtr.Greedy())
    assert forces_plans(Inherits())
    assert not forces_plans(dtr.UniformRandom())
    assert not forces_plans(Own())


# -- logs under a function or a policy of one's own ----------------------------------------------------------

PLAIN = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")])
Features = Callable[[Mapping[str, Any]], Any]


def bent(at: float) -> Features:
    def hinge(columns: Mapping[str, Any]) -> Any:
        return np.stack([np.ones_like(columns["x"]), np.maximum(columns["x"] - at, 0)], axis=1)

    return hinge


def straight() -> Features:
    def hinge(columns: Mapping[str, Any]) -> Any:
        return np.stack([np.ones_like(columns["x"]), columns["x"]], axis=1)

    return hinge


def design(features: Features) -> dtr.Design:
    return dtr.Design([dtr.Stage("only", ("a", "b"), features, columns=("x",))])


def above(cut: float) -> dtr.FixedRegime:
    return dtr.FixedRegime(rule=lambda history: "a" if history.features[0][1] > cut else "b")


@dataclass(frozen=True)
class Stubborn:
    """A policy that always gives one arm."""

    arm: int

    def init(self, design: dtr.Design) -> None:
        """Nothing to learn."""

    def update(self, state: None, history: History, event: Fact) -> None:
        """Nothing to learn."""

    def decide(self, state: None, history: History, u: float) -> Choice:  # noqa: ARG002
        return Choice(self.arm, "rule", tuple(float(arm == self.arm) for arm in range(2)))


def played(design: dtr.Design, policy: Any) -> dtr.Session:
    session = dtr.Session(design, policy)
    for unit, x in enumerate((0.5, 1.5, 2.5)):
        session.enroll(f"u{unit}", {"x": x})
        session.complete(f"u{unit}", x)
    return session


SAME: dict[str, Callable[[], tuple[dtr.Design, Any]]] = {
    "features": lambda: (design(bent(1.0)), dtr.Greedy()),
    "a rule": lambda: (PLAIN, above(1.0)),
    "a policy": lambda: (PLAIN, Stubborn(1)),
}


@pytest.mark.parametrize("what", SAME)
def test_a_log_goes_on_under_what_it_was_opened_with_made_anew(what: str, tmp_path: Path) -> None:
    session = played(*SAME[what]())
    dtr.write_log(tmp_path / "log.jsonl", session.log)
    again, policy = SAME[what]()

    resumed = dtr.Session.resume(dtr.read_log(tmp_path / "log.jsonl"), design=again, policy=policy)

    assert resumed.log == session.log
    assert resumed.enroll("next", {"x": 0.7}) == session.enroll("next", {"x": 0.7})


@pytest.mark.parametrize(
    ("what", "other", "says"),
    [
        (
            "features",
            (design(bent(2.0)), dtr.Greedy()),
            "'only', features.*hinge' uses another value there than here",
        ),
        ("features", (design(straight()), dtr.Greedy()), "'only', features, function is 'bent.*' there and 'straight"),
        ("a rule", (PLAIN, above(2.0)), "policy, 'FixedRegime'.*rule uses another value there than here"),
        ("a policy", (PLAIN, Stubborn(0)), "policy, 'Stubborn' uses another value there than here: .*an attribute"),
    ],
)
def test_another_function_or_parameter_is_refused_by_name(what: str, other: tuple[Any, Any], says: str) -> None:
    log = played(*SAME[what]()).log

    with pytest.raises(dtr.LogError, match=f"another design or policy: .*{says}.*open a new log"):
        dtr.Session.resume(log, design=other[0], policy=other[1])


def test_another_method_of_the_same_class_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    log = played(PLAIN, Stubborn(1)).log
    monkeypatch.setattr(Stubborn, "decide", lambda self, state, history, u: Choice(1, "rule", (0.0, 1.0)))  # noqa: ARG005

    with pytest.raises(dtr.LogError, match="policy, 'Stubborn' has another source there than here"):
        dtr.Session.resume(log, policy=Stubborn(1))


OLD: Mapping[str, dict[str, Any]] = {  # how 0.1.0 described them
    "features": {
        "enclosed at": "1.0",
        "global np": "40e770f2c0bc26a9b437315d5936aa17",  # pragma: allowlist secret
        "source": "a07b856e2fa44ab44402acdd0c491605",  # pragma: allowlist secret
    },
    "a rule": {
        "rule": {
            "enclosed cut": "1.0",
            "source": "d24605510326b659534822dd9b7ef225",  # pragma: allowlist secret
        }
    },
    "a policy": {
        "arm": "1",
        "class": "Stubborn",
        "decide": {
            "global Choice": "4ddb4160b54bd70504cf90e065f0fc08",  # pragma: allowlist secret
            "source": "3adead21e7f7152fd57679f076c51460",  # pragma: allowlist secret
        },
        "init": {"source": "a9ffd1b8f4d2f03eaa13208aaff4ae2e"},  # pragma: allowlist secret
        "update": {"source": "e506e074ee772e4a30f8134555a78284"},  # pragma: allowlist secret
    },
}


def as_0_1_0_opened(what: str) -> Opened:
    """Return how 0.1.0 would have opened the log of an example."""
    design, policy = SAME[what]()
    stages: dict[str, Any] = design.to_dict()
    described = policy_to_dict(policy)
    if what == "features":
        stages["stage"][0]["features"]["identity"] = OLD[what]
    else:
        described["identity"] = OLD[what]
    return Opened(stages, described, 0, 1)


@pytest.mark.parametrize("what", SAME)
def test_a_log_of_0_1_0_goes_on_under_the_same_sources(what: str) -> None:
    require_same(as_0_1_0_opened(what), *SAME[what]())


@pytest.mark.parametrize("what", SAME)
def test_a_log_of_0_1_0_is_refused_under_another_source(what: str) -> None:
    opened = as_0_1_0_opened(what)
    text = json.dumps([opened.design, opened.policy]).replace('"source": "', '"source": "00')
    design, policy = json.loads(re.sub(r'("source": "00\w{30})\w\w', r"\1", text))

    with pytest.raises(dtr.LogError, match="has another source there than here"):
        require_same(Opened(design, policy, 0, 1), *SAME[what]())


def test_a_built_in_policy_with_another_parameter_is_refused_by_name() -> None:
    opened = Opened(PLAIN.to_dict(), policy_to_dict(dtr.DTRBandit(q=1, delta=1.0)), 0, 1)

    require_same(opened, PLAIN, dtr.DTRBandit(q=1, delta=1.0))
    with pytest.raises(dtr.LogError, match="policy, 'DTRBandit', q is 1 there and 2 here"):
        require_same(opened, PLAIN, dtr.DTRBandit(q=2, delta=1.0))


def test_a_study_goes_on_under_the_same_function_only() -> None:
    from dtrbandit.environments import Synthetic

    def study(cut: float, **more: Any) -> dtr.Study:
        arms = Synthetic().design.stages[0].arms
        rule = dtr.FixedRegime(rule=lambda history: arms[int(history.features[0][1] > cut)])
        return dtr.simulate(Synthetic(), {"rule": rule}, horizon=5, **more)

    first = study(0.0, paths=1)

    assert study(0.0, paths=2, resume=first).paths == (0, 1)
    with pytest.raises(dtr.DesignError, match=r"policies, rule.*uses another value there than here"):
        study(0.5, paths=2, resume=first)


@pytest.mark.parametrize(
    "policy",
    [
        *examples(),
        dtr.DTRBandit(q=2, delta=(0.5, 1.0), schedule="permuted"),
        dtr.LSVIUCB(beta=1.0, bound=(1.0, (1.0, 26.0)), clip=(1.0, 2.0), scale=13.0),
        dtr.FixedRegime(rule={"first": "a", "second": {"a": (0.0, 1.0), "b": (0.0, 0.0)}}),
    ],
    ids=repr,
)
def test_a_policy_survives_a_dict(policy: Any) -> None:
    again = policy_from_dict(policy_to_dict(policy))

    assert again == policy


def test_a_scale_of_one_goes_without_saying_so_that_older_logs_go_on() -> None:
    plain = policy_to_dict(dtr.LSVIUCB(beta=1.0))

    assert "scale" not in plain
    assert policy_from_dict(plain) == dtr.LSVIUCB(beta=1.0, scale=1.0)
    assert policy_to_dict(dtr.LSVIUCB(beta=1.0, scale=13.0))["scale"] == 13.0


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ({"name": "Thompson"}, "DTRBandit"),
        ({"name": "DTRBandit", "q": 1}, "delta"),
        ({"name": "Greedy", "epsilon": 1}, "floor"),
        ({"name": "UniformRandom", "epsilon": 1}, "none"),
        ({}, "None"),
    ],
)
def test_an_unknown_policy_or_parameter_is_named(entries: dict[str, object], says: str) -> None:
    with pytest.raises(dtr.DesignError, match=says):
        policy_from_dict(entries)
