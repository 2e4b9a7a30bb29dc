"""What makes two runs the same study, and what is told of the difference."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.environments import PotentialOutcomes, Synthetic
from simulation.worlds import DESIGN, FEW, Branching, Counted, Slow, policies


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"horizon": 61}, "horizon is 60 there and 61 here"),
        ({"seed": 1}, "seed is 0 there and 1 here"),
        ({"policies": {"DTRB": FEW["DTRB"]}}, "policies, uniform is .* there and missing here"),
        ({"policies": dict(reversed(FEW.items()))}, "order of policies"),
        (
            {"policies": {**FEW, "uniform": dtr.Greedy()}},
            "policies, uniform, name is 'UniformRandom' there and 'Greedy'",
        ),
        ({"environment": Counted(called="Other")}, "environment is 'Counted' there and 'Other' here"),
        ({"environment": Counted(shift=1.0)}, "fingerprint is"),
    ],
)
def test_resuming_another_study_is_refused(other: dict[str, Any], named: str) -> None:
    asked: dict[str, Any] = {"environment": Counted(), "policies": FEW, "horizon": 60, "paths": 2}
    study = dtr.simulate(**asked)

    with pytest.raises(dtr.DesignError, match=f"resume= is another study: .*{named}"):
        dtr.simulate(**{**asked, **other}, resume=study)


@dataclass(frozen=True)
class Shifted:
    """An environment that holds a function, whose address its repr shows."""

    shift: Callable[[float], float]
    design = Synthetic().design

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        units = Synthetic().draw(n, rng)
        return units._replace(outcome=units.outcome + self.shift(1.0), q=None)


def test_a_function_may_lie_elsewhere_when_a_study_goes_on() -> None:
    def shifted() -> Shifted:
        return Shifted(lambda x: 2 * x)

    first, again = shifted(), shifted()
    study = dtr.simulate(first, FEW, horizon=60, paths=1)

    assert repr(first) != repr(again)
    assert dtr.simulate(again, FEW, horizon=60, paths=2, resume=study).take([0]) == study


class Late:
    """Outcomes that wait for some units more; it does not say for how many."""

    def __init__(self, wait: int) -> None:
        self.wait = wait

    def events(self, n: int, stages: int, rng: np.random.Generator) -> NDArray[np.int32]:  # noqa: ARG002
        time = np.arange(n)[:, None] + self.wait * np.arange(stages + 1)
        unit, what = np.divmod(np.argsort(time, axis=None, kind="stable"), stages + 1)
        return np.column_stack([what, unit]).astype(np.int32)


def test_resuming_with_other_arrivals_is_refused_though_they_do_not_show_themselves() -> None:
    asked: dict[str, Any] = {"environment": Counted(), "policies": FEW, "horizon": 60}
    study = dtr.simulate(**asked, paths=1, arrivals=Late(20))

    assert dtr.simulate(**asked, paths=2, arrivals=Late(20), resume=study).take([0]) == study
    with pytest.raises(dtr.DesignError, match="resume= is another study: arrivals is"):
        dtr.simulate(**asked, paths=2, arrivals=Late(21), resume=study)


def test_a_manifest_is_plain_values() -> None:
    study = dtr.simulate(Branching(), policies(DESIGN), horizon=10, paths=1, arrivals=Slow())

    assert json.loads(json.dumps(study.manifest.policies)) == study.manifest.policies
    assert study.manifest.environment == "Branching(knows_q=True)"
    assert study.manifest.arrivals == "Slow(days=7, lost=0.15)"


class Hidden(Counted):
    """An environment that draws by a generator of its own: a new one each time, or one that it keeps."""

    def __init__(self, kept: np.random.Generator | None) -> None:
        self.kept = kept

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:  # noqa: ARG002
        return super().draw(n, np.random.default_rng(0) if self.kept is None else self.kept)


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        (None, "drew the same 16 units from two generators, so all paths are one: draw.* must take all its randomness"),
        (np.random.default_rng(0), "drew other units from the same generator: draw.* must take all its randomness"),
    ],
)
def test_randomness_that_is_not_the_given_generators_is_refused(kept: Any, message: str) -> None:
    """Paths would be one path many times over, or would depend on the number of workers."""
    with pytest.raises(dtr.DesignError, match=message):
        dtr.simulate(Hidden(kept), FEW, horizon=60, paths=2)
