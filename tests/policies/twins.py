"""A session of the package beside one under the plain refit, told the same things: they must agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pytest

import dtrbandit as dtr
import plain.dtr_bandit
import plain.epsilon_greedy
import plain.greedy
import plain.lsvi_ucb
from dtrbandit.policies import Choice
from dtrbandit.policies.policy import Numbers
from dtrbandit.record import History

TIE = 1e-9  # a margin below this share of the values compared says nothing: rounding may decide
CLOSE = 1e-7  # how far Q may differ, relative to its size: different roundings of the same fit
PLAIN: dict[type, Any] = {
    dtr.DTRBandit: plain.dtr_bandit.DTRBandit,
    dtr.EpsilonGreedy: plain.epsilon_greedy.EpsilonGreedy,
    dtr.Greedy: plain.greedy.Greedy,
    dtr.LSVIUCB: plain.lsvi_ucb.LSVIUCB,
}


def plain_twin(policy: Any) -> Any:
    """Return the plain refit of a policy, with the same parameters."""
    return PLAIN[type(policy)](**{each.name: getattr(policy, each.name) for each in fields(policy)})


def margin(choice: Choice, feasible: tuple[bool, ...], delta: float | None) -> float:
    """Return how far a choice is from a tie, relative to the values compared; infinite if it compared none."""
    if choice.reason in ("forced", "only_feasible"):
        return float("inf")
    arms = [arm for arm, yes in enumerate(feasible) if yes]
    q_tilde, q_hat = in_order(choice.q_tilde), in_order(choice.q_hat)
    tilde = [q for arm in arms if (q := q_tilde[arm]) is not None]
    hat = sorted(q for arm in choice.contenders if (q := q_hat[arm]) is not None)
    margins = [hat[-1] - hat[-2]] if len(hat) > 1 else []
    if delta is not None and len(tilde) > 1:
        margins += [abs(max(tilde) - q - delta / 2) for q in tilde]
    sizes = [abs(q) for q in (*tilde, *hat)]
    return min(margins, default=float("inf")) / max([*sizes, delta or 0.0, 1e-300])


def in_order(numbers: Numbers) -> tuple[float | None, ...]:
    """Return a choice's numbers, one per arm."""
    return tuple(numbers.values()) if isinstance(numbers, Mapping) else numbers


class Follower:
    """The plain refit, except that where rounding may decide it gives the arm that the package gave."""

    def __init__(self, policy: Any) -> None:
        self.init, self.update, self.plain = policy.init, policy.update, policy
        self.estimates = policy.estimates
        self.given: dtr.Decision | None = None
        self.arms: tuple[str, ...] = ()
        self.tally: Counter[str] = Counter()

    def decide(self, state: Any, history: History, u: float) -> Choice:
        choice: Choice = self.plain.decide(state, history, u)
        delta = state.delta[len(history.arms)] if isinstance(self.plain, plain.dtr_bandit.DTRBandit) else None
        distance = margin(choice, history.feasible, delta)
        self.tally["free"] += distance < float("inf")
        if distance >= TIE or self.given is None or (distance == 0.0 and self._sees_the_same_tie()):
            return choice
        self.tally["ties"] += 1
        arms = state.design.stages[len(history.arms)].arms
        arm, propensities = arms.index(self.given.arm), list(choice.propensities)
        propensities[arm], propensities[choice.arm] = propensities[choice.arm], propensities[arm]
        contenders = tuple(map(arms.index, self.given.contenders))
        return choice._replace(
            arm=arm, reason=self.given.reason, propensities=tuple(propensities), contenders=contenders
        )

    def _sees_the_same_tie(self) -> bool:
        """Say whether the best two Q̂ that the package compared are equal to the last bit, too: the lowest arm wins."""
        assert self.given is not None
        hat = sorted(q for arm in self.given.contenders if (q := self.given.q_hat[arm]) is not None)
        return len(hat) > 1 and hat[-1] == hat[-2]


class Twins:
    """Both sessions; ``tally`` counts decisions, those that compared estimates, and the ties among them."""

    def __init__(
        self, design: dtr.Design, policy: Any, *, seed: int, tally: Counter[str] | None = None, prior: Any = None
    ) -> None:
        self.session: Any = dtr.Session(design, policy, seed=seed, prior=prior)
        self.follower = Follower(plain_twin(policy))
        self.follower.tally = Counter() if tally is None else tally
        self.plain = dtr.Session(design, self.follower, seed=seed, prior=prior)

    @property
    def tally(self) -> Counter[str]:
        return self.follower.tally

    def tell(self, verb: str, *content: Any, **more: Any) -> Any:
        """Say the same to both; return the package's answer, which must be the plain refit's."""
        before = len(self.session.log)
        answer = getattr(self.session, verb)(*content, **more)
        self.follower.given = answer
        expected = getattr(self.plain, verb)(*content, **more)
        if answer is None or expected is None:
            assert answer is expected
        else:
            assert_same_decision(answer, expected)
            self.tally["decisions"] += len(self.session.log) > before and answer.reason != "override"
        return answer


def assert_same_decision(found: dtr.Decision, expected: dtr.Decision) -> None:
    """Demand the same arm, reason, propensity and contenders, and Q within rounding."""
    same = ("unit", "round", "stage", "arm", "reason", "contenders")
    assert [getattr(found, name) for name in same] == [getattr(expected, name) for name in same]
    assert found.propensity == (None if expected.propensity is None else pytest.approx(expected.propensity, abs=1e-12))
    for name in ("q_tilde", "q_hat"):
        mine, theirs = getattr(found, name), getattr(expected, name)
        size = max([1.0, *(abs(q) for q in theirs.values() if q is not None)])
        assert mine == {arm: q if q is None else pytest.approx(q, abs=CLOSE * size) for arm, q in theirs.items()}
