"""The contract of environments catches what breaks it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from contracts.remission import Remission
from dtrbandit.environments import Environment, PotentialOutcomes, Synthetic, Tabulated
from dtrbandit.errors import DesignError
from dtrbandit.testing import EnvironmentContract

Change = Callable[[PotentialOutcomes], PotentialOutcomes]


class Changed:
    """An environment whose units are changed after they were drawn."""

    def __init__(self, source: Environment, change: Change) -> None:
        self.design, self._source, self._change = source.design, source, change

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        return self._change(self._source.draw(n, rng))


class Claiming(Changed):
    """One that claims linear Q-functions, and perhaps another optimal value."""

    coefficients = Synthetic().coefficients
    optimal_value = Synthetic().optimal_value


def contract(environment: Environment) -> EnvironmentContract:
    broken = EnvironmentContract()
    broken.environment = lambda: environment  # type: ignore[method-assign]
    return broken


def with_infeasible_outcome(units: PotentialOutcomes) -> PotentialOutcomes:
    return units._replace(outcome=np.nan_to_num(units.outcome))


def with_unequal_leavers(units: PotentialOutcomes) -> PotentialOutcomes:
    return units._replace(outcome=units.outcome + np.arange(2))


@pytest.mark.parametrize(
    ("change", "words"), [(with_infeasible_outcome, "infeasible"), (with_unequal_leavers, "leaves before stage")]
)
def test_the_contract_catches_units_that_do_not_fit(change: Change, words: str) -> None:
    with pytest.raises(DesignError, match=words):
        contract(Changed(Remission(), change)).test_units_fit_the_design()


def test_the_contract_catches_too_few_units() -> None:
    def without_the_last(units: PotentialOutcomes) -> PotentialOutcomes:
        return Tabulated(units).draw(len(units.outcome) - 1, np.random.default_rng(0))

    with pytest.raises(AssertionError, match="asked for 1 unit, found 0"):
        contract(Changed(Synthetic(), without_the_last)).test_units_fit_the_design()


def test_the_contract_catches_a_generator_of_its_own() -> None:
    own = np.random.default_rng(0)
    broken = contract(Changed(Synthetic(), lambda units: units._replace(outcome=units.outcome + own.random())))

    with pytest.raises(AssertionError, match="outcome differs"):
        broken.test_the_same_generator_gives_the_same_units()


def test_the_contract_catches_the_global_generator() -> None:
    def with_global_noise(units: PotentialOutcomes) -> PotentialOutcomes:
        return units._replace(outcome=units.outcome + np.random.rand())  # noqa: NPY002

    with pytest.raises(AssertionError, match="global generator"):
        contract(Changed(Synthetic(), with_global_noise)).test_only_the_given_generator_is_used()


def test_the_contract_catches_shared_memory() -> None:
    always_these = Synthetic().draw(200, np.random.default_rng(0))

    with pytest.raises(AssertionError, match="differs between two draws"):
        contract(Changed(Synthetic(), lambda _: always_these)).test_draws_share_nothing()


@pytest.mark.parametrize("m", [0, 1])
def test_the_contract_catches_wrong_q_functions(m: int) -> None:
    def with_wrong_slope(units: PotentialOutcomes) -> PotentialOutcomes:
        assert units.q is not None
        q, x = list(units.q), units.contexts[0]["x"]
        q[m] = q[m] + 0.2 * (x - 0.5).reshape(-1, *[1] * (m + 1))
        return units._replace(q=tuple(q))

    with pytest.raises(AssertionError, match="q is off after arms"):
        contract(Changed(Remission(), with_wrong_slope)).test_true_q_functions_are_the_means_of_what_follows()


def test_the_contract_catches_a_wrong_q_function_that_no_line_in_the_features_shows() -> None:
    def with_curve(units: PotentialOutcomes) -> PotentialOutcomes:
        assert units.q is not None
        x = units.contexts[0]["x"]
        return units._replace(q=(units.q[0] + ((x - 0.5) ** 2 - 1 / 12)[:, None], units.q[1]))  # uncorrelated with 1, x

    with pytest.raises(AssertionError, match="q is off after arms"):
        contract(Changed(Remission(), with_curve)).test_true_q_functions_are_the_means_of_what_follows()


def test_the_contract_catches_a_false_claim_of_linearity() -> None:
    def with_square(units: PotentialOutcomes) -> PotentialOutcomes:
        assert units.q is not None
        return units._replace(q=(units.q[0] + 1e-6 * units.contexts[0]["x1"][:, None] ** 2, units.q[1]))

    with pytest.raises(AssertionError, match=r"q\[0\] is not linear"):
        contract(Claiming(Synthetic(), with_square)).test_linear_q_functions_are_exactly_linear()


def test_the_contract_catches_a_wrong_optimal_value() -> None:
    broken = Claiming(Synthetic(), lambda units: units)
    broken.optimal_value += 0.02

    with pytest.raises(AssertionError, match="optimal value"):
        contract(broken).test_linear_q_functions_are_exactly_linear()


def test_a_contract_without_an_environment_says_what_it_needs() -> None:
    with pytest.raises(TypeError, match=r"needs a method environment\(\)"):
        EnvironmentContract().test_units_fit_the_design()
