"""Replay: what it estimates, what it depends on, and what it refuses."""

from __future__ import annotations

from dataclasses import replace as with_other
from functools import cache
from itertools import chain, islice
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
import open_data
from dtrbandit.environments import Linear, Synthetic
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.cohort.origin import Origin
from dtrbandit.evaluation.replay.paths import offer_rows, play_path, prepare
from dtrbandit.evaluation.replay.players import player_of
from dtrbandit.evaluation.replay.replay import Resampled, Resampling, SmallCohort, replay
from dtrbandit.evaluation.replay.result import Replay
from dtrbandit.evaluation.replay.sampling import DRAWS, drawn_rows, sampling_weights
from dtrbandit.policies.policy import Choice
from evaluation.collected import synthetic_session
from evaluation.replay_worlds import TWO, logged, streams, two_stage_cohort, world
from evaluation.replay_worlds import policies as built_in

pytestmark = pytest.mark.filterwarnings(
    "ignore::dtrbandit.evaluation.EqualWeights"
)  # leavers, drawn with equal weights
small = pytest.mark.filterwarnings("ignore::dtrbandit.evaluation.SmallCohort")


def ctn0030() -> Cohort:
    """NIDA CTN-0030: two randomisations, early successes, drop-outs."""
    frame = pd.read_csv(open_data.path("ctn0030"))
    design = dtr.Design(
        [
            dtr.Stage("first", ("emm", "smm"), "1 + age + base_use_days"),
            dtr.Stage("second", ("emm", "smm"), "1 + sev1 + neg1", enter_if="success == 0"),
        ]
    )
    success = (frame["status"] == "success").to_numpy(dtype=np.float64)
    arms = np.column_stack([frame[arm].map({1: 0, -1: 1}).fillna(-1) for arm in ("A1", "A2")]).astype(np.int8)
    first = {name: frame[name].to_numpy(dtype=np.float64) for name in ("age", "base_use_days")}
    second = {**{name: frame[name].to_numpy(dtype=np.float64) for name in ("sev1", "neg1")}, "success": success}
    units = tuple(frame["who"].astype(str))
    return Cohort(design, units, (first, second), arms, frame["Y"].to_numpy(dtype=np.float64), np.ones(len(frame)))


def two_stage_cont() -> Cohort:
    """DTRreg's twoStageCont, simulated: treatments depend on the covariates."""
    frame = pd.read_csv(open_data.path("dtrreg_twostagecont")).astype(np.float64)
    design = dtr.Design([dtr.Stage("first", ("0", "1"), "1 + X1"), dtr.Stage("second", ("0", "1"), "1 + X2")])
    contexts = {"X1": frame["X1"].to_numpy()}, {"X2": frame["X2"].to_numpy()}
    arms, units = frame[["A1", "A2"]].to_numpy().astype(np.int8), tuple(map(str, range(len(frame))))
    return Cohort(design, units, contexts, arms, frame["Y"].to_numpy(), np.ones(len(frame)))


def follows(cohort: Cohort, rule: dict[str, dict[str, list[float]]]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which units with an outcome were treated as the rule says at every stage that they entered."""
    agrees = ~cohort.dropped_out
    for stage, features, arms in zip(cohort.design.stages, cohort.features, cohort.arms.T, strict=True):
        score = np.column_stack([np.nan_to_num(features) @ rule[stage.name][arm] for arm in stage.arms])
        agrees &= (arms < 0) | (arms == score.argmax(axis=1))
    return agrees


# -- what it estimates ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cohort", "rule"),
    [
        (ctn0030, {"first": {"emm": [5.0, 0.0, 0.0], "smm": [0.0, 0.15, 0.0]},
                   "second": {"emm": [-6.0, 0.1, 0.0], "smm": [0.0, 0.0, 0.1]}}),
        (two_stage_cont, {"first": {"0": [0.0, 0.0], "1": [0.3, -1.0]}, "second": {"0": [0.0, 1.0], "1": [0.5, 0.0]}}),
    ],
)  # fmt: skip
@small
def test_a_fixed_rule_earns_the_weighted_mean_of_the_units_that_follow_it(cohort: Any, rule: Any) -> None:
    """40 paths of 2,500 rounds are 100,000 independent draws: within 4 standard errors of the weighted mean."""
    units = cohort()
    weights = np.random.default_rng(3).gamma(2.0, size=len(units))
    agrees = follows(units, rule)
    assert 40 < agrees.sum() < (~units.dropped_out).sum() - 40
    own, outcome = weights[agrees] / weights[agrees].sum(), units.outcome[agrees]
    mean = own @ outcome
    deviation = np.sqrt(own @ (outcome - mean) ** 2)

    found = replay(dtr.FixedRegime(rule=rule), units, horizon=2_500, paths=40, weights=weights)

    assert found.value == pytest.approx(mean, abs=4 * deviation / np.sqrt(100_000))
    assert found.acceptance_rate == pytest.approx(weights[agrees].sum() / weights.sum(), abs=0.01)
    assert np.isin(found.rows, np.flatnonzero(agrees)).all()


def test_coins_favour_early_leavers_unless_rows_are_weighted_by_their_propensities() -> None:
    """Y is 1 for leavers, a share s of all. A rule agrees with 1/2 of them and 1/4 of the others: 2s / (1 + s)."""
    n, rng = 40_000, np.random.default_rng(8)
    z = rng.normal(size=n)
    design = with_other(TWO, plans=None)
    arms = rng.integers(2, size=(n, 2)).astype(np.int8)
    arms[z <= -1, 1] = -1
    outcome = (z <= -1).astype(np.float64)
    cohort = Cohort(design, tuple(map(str, range(n))), ({"x": rng.normal(size=n)}, {"z": z}), arms, outcome, np.ones(n))
    rule, share = dtr.FixedRegime(rule={"first": "a", "second": "b"}), outcome.mean()
    one_over_p = np.where(z <= -1, 2.0, 4.0)
    error = 4 * np.sqrt(share / 4_000)

    plain = replay(rule, cohort, horizon=4_000, paths=1)
    weighted = replay(rule, cohort, horizon=4_000, paths=1, weights=one_over_p)
    once = replay(rule, cohort, horizon=4_000, paths=1, weights=one_over_p, replace=False)

    assert plain.value == pytest.approx(2 * share / (1 + share), abs=error)
    assert weighted.value == pytest.approx(share, abs=error)
    assert once.value == pytest.approx(share, abs=error)
    assert "leavers" in plain.weights_used


LEARNERS = {"DTRB": dtr.DTRBandit(q=2, delta=1.0), "0.1-Greedy": dtr.EpsilonGreedy(epsilon=0.1)}


@cache
def true_values(environment: Any, horizon: int) -> dict[str, tuple[float, float]]:
    """Return each learner's average outcome and its standard error, by simulation."""
    study = dtr.simulate(environment, LEARNERS, horizon=horizon, paths=400, seed=77)
    averages = {name: outcomes.mean(axis=1) for name, outcomes in study.rewards.items()}
    return {name: (own.mean(), own.std() / np.sqrt(len(own))) for name, own in averages.items()}


@pytest.mark.full
@pytest.mark.parametrize("environment", [Synthetic(), Linear(arms=(2, 3), noise=2.0, seed=1)], ids=["2 arms", "3 arms"])
@pytest.mark.parametrize("name", LEARNERS)
def test_one_pass_over_fresh_rows_is_unbiased(environment: Any, name: str) -> None:
    """100 cohorts of randomised units, a path through each: within 4 standard errors of what the policy earns."""
    truth, truth_error = true_values(environment, 150)[name]
    rows, values = 150 * len(environment.design.arm_plans) * 2, []

    for seed in range(100):
        rng = np.random.default_rng([seed, 1])
        cohort = logged(environment.draw(rows, rng), rng)
        values.append(replay(LEARNERS[name], cohort, horizon=150, paths=1, seed=seed, replace=False).value)

    error = np.hypot(np.std(values) / np.sqrt(len(values)), truth_error)
    assert np.mean(values) == pytest.approx(truth, abs=4 * error)


@pytest.mark.parametrize("name", LEARNERS)
def test_draws_from_many_more_rows_than_rounds_are_unbiased(name: str) -> None:
    """100 paths of 150 rounds through 50,000 units, of whom few come twice: within 4 standard errors."""
    truth, truth_error = true_values(Synthetic(), 150)[name]
    rng = np.random.default_rng(4)
    cohort = logged(Synthetic().draw(50_000, rng), rng)

    found = replay(LEARNERS[name], cohort, horizon=150, paths=100)

    of_cohorts = found.outcomes.std() / np.sqrt(50_000 / 4)  # another cohort would have another mean
    error = np.sqrt(found.std_error**2 + of_cohorts**2 + truth_error**2)
    assert found.value == pytest.approx(truth, abs=4 * error)


@pytest.mark.full
@small
def test_a_small_cohort_flatters_a_learner_but_not_a_fixed_rule() -> None:
    """80 cohorts of 60 units, 300 rounds: Greedy gains more than 4 standard errors, random arms nothing."""
    environment = Linear(dimension=4, noise=2.0, seed=3)
    policies = {"Greedy": dtr.Greedy(), "uniform": dtr.UniformRandom()}
    study = dtr.simulate(environment, policies, horizon=300, paths=200, seed=2)
    gains: dict[str, list[float]] = {name: [] for name in policies}

    for seed in range(80):
        rng = np.random.default_rng([seed, 2])
        cohort = logged(environment.draw(60, rng), rng)
        for name, policy in policies.items():
            value = replay(policy, cohort, horizon=300, paths=2, seed=seed).value
            gains[name].append(value - study.rewards[name].mean())

    errors = {name: np.std(own) / np.sqrt(len(own)) for name, own in gains.items()}
    assert np.mean(gains["Greedy"]) > 4 * errors["Greedy"]
    assert abs(np.mean(gains["uniform"])) < 4 * errors["uniform"]


# -- what it depends on --------------------------------------------------------------------------------------


@small
def test_paths_depend_on_the_seed_and_their_number_alone() -> None:
    cohort, policy = two_stage_cohort(), dtr.EpsilonGreedy(epsilon=0.2)
    found = replay(policy, cohort, horizon=80, paths=4, seed=3)

    again, fewer, other = (
        replay(policy, cohort, horizon=80, paths=paths, seed=seed, n_jobs=jobs)
        for paths, seed, jobs in ((4, 3, 2), (2, 3, 1), (4, 4, 1))
    )

    assert (again.rows == found.rows).all()
    assert (again.draws == found.draws).all()
    assert (fewer.rows == found.rows[:2]).all()
    assert (other.rows != found.rows).any()
    assert len({path.tobytes() for path in found.rows}) == 4


@small
def test_lsvi_ucb_without_beta_takes_the_theorys_for_the_horizon() -> None:
    cohort = two_stage_cohort()
    beta = dtr.suggested_beta(TWO, rounds=70)

    unset, stated = (replay(dtr.LSVIUCB(beta=each), cohort, horizon=70, paths=1) for each in (None, beta))

    assert (unset.rows == stated.rows).all()
    assert f"beta={beta}" in unset.policy


@small
def test_early_leavers_match_on_the_stages_they_entered_and_drop_outs_never() -> None:
    cohort, policy, _ = world(12, "DTRB", n=80)
    assert cohort.left_early.sum() > 5
    assert cohort.dropped_out.sum() > 5

    found = replay(policy, cohort, horizon=300, paths=2)

    assert not cohort.dropped_out[found.rows].any()
    assert cohort.left_early[found.rows].mean() > 0.05
    assert (found.arms == cohort.arms[found.rows]).all()
    assert (found.outcomes == cohort.outcome[found.rows]).all()


@small
def test_all_policies_are_offered_the_same_rows_in_the_same_order() -> None:
    cohort, _, _ = world(3, "DTRB")
    for name in ("DTRB", "uniform", "rule"):
        found = replay(built_in(cohort.design)[name], cohort, horizon=50, paths=2, seed=9)
        for path in range(2):
            offered = chain.from_iterable(drawn_rows(sampling_weights(cohort, None), streams(9, path)[0]))
            among = list(islice(offered, int(found.draws[path])))
            left = iter(among)

            assert all(row in left for row in found.rows[path])  # in order: the iterator goes on where it was
            assert among[-1] == found.rows[path, -1]


def test_a_warning_says_that_a_cohort_is_small() -> None:
    cohort, policy, _ = world(5, "Greedy")

    with pytest.warns(SmallCohort, match="exceeds the effective sample size"):
        replay(policy, cohort, horizon=60, paths=1)


# -- what it refuses -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizon": 0}, "horizon must be"),
        ({"paths": 0}, "paths must be"),
        ({"seed": -1}, "seed must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"policy": dtr.Greedy}, "needs a policy such as"),
        ({"cohort": "people.csv"}, "needs a Cohort"),
        ({"weights": [1.0]}, r"one number for each of 60 units, found an array of shape \(1,\)"),
        ({"weights": ["heavy"] * 60}, "must be numbers"),
        ({"weights": np.full(60, -1.0)}, r"finite and not negative, found -1.0 for row 1"),
        ({"weights": np.full(60, np.nan)}, "finite and not negative"),
        ({"weights": np.zeros(60)}, "all 0"),
        ({"weights": two_stage_cohort().dropped_out * 1.0}, "nothing to replay"),
        ({"policy": dtr.DTRBandit(q=1, delta=(1.0, 2.0, 3.0))}, "3 numbers for a design of 2 stages"),
        ({"horizon": 100, "replace": False}, "100 rounds cannot come from"),
        ({"horizon": 45, "replace": False}, r"ran out after \d+ of 45 rounds.*replace=True"),
        (
            {"horizon": 45, "replace": False, "weights": np.exp(np.arange(60) / 20)},
            r"ran out .*: \d+ of 60 units were .*\(a unit is offered in proportion to its weight.*clip=",
        ),
        ({"horizon": 10**18}, "needs at least .* of memory"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused_in_words(change: dict[str, Any], message: str) -> None:
    arguments = {"policy": dtr.UniformRandom(), "cohort": two_stage_cohort(), "horizon": 10, "paths": 1, **change}

    with pytest.raises(dtr.DesignError, match=message):
        replay(arguments.pop("policy"), arguments.pop("cohort"), **arguments)


@pytest.mark.parametrize("policy", [dtr.DTRBandit(q=1, delta=1.0), dtr.Greedy(), dtr.EpsilonGreedy(epsilon=0.1)])
def test_a_forced_plan_that_no_unit_completed_is_named_before_any_round(policy: Any) -> None:
    cohort = two_stage_cohort()
    without = (~((cohort.arms[:, 0] == 0) & (cohort.arms[:, 1] == 1))).astype(np.float64)

    with pytest.raises(dtr.DesignError, match=r"completed a, then b: .* leave the plan out"):
        replay(policy, cohort, horizon=10, paths=1, weights=without)


@pytest.mark.parametrize("wrap", [False, True], ids=["compiled", "a function"])
def test_a_rule_that_no_unit_follows_is_refused_instead_of_waiting_for_ever(wrap: bool) -> None:
    cohort = two_stage_cohort()
    weights = (cohort.arms[:, 0] == 0).astype(np.float64)
    always: Any = (lambda _: "b") if wrap else {"first": "b", "second": "b"}

    with pytest.raises(dtr.DesignError, match=r"in round 1 .* would give none of the \d+ usable units"):
        replay(dtr.FixedRegime(rule=always), cohort, horizon=10, paths=1, weights=weights)


class Turning:
    """A policy that gives the first arm until a round, then the second."""

    def __init__(self, last: int) -> None:
        self.last = last

    def init(self, design: dtr.Design) -> None:
        del design

    def update(self, state: None, history: Any, event: Any) -> None:
        del state, history, event

    def decide(self, state: None, history: Any, u: float) -> Choice:
        del state, u
        arm = int(history.round > self.last)
        return Choice(arm, "rule", (1.0 - arm, float(arm)))


def test_a_round_without_agreement_is_found_out_however_many_went_well_before() -> None:
    n, many = 50, DRAWS + 10  # rounds: all of the first draws are accepted
    design = dtr.Design([dtr.Stage("only", ("a", "b"), "1")])
    cohort = Cohort(design, tuple(map(str, range(n))), ({},), np.zeros((n, 1), np.int8), np.ones(n), np.ones(n))
    inputs = prepare(Turning(many), cohort, None, horizon=2 * many, seed=0, once=False)
    player = player_of(inputs.policy, inputs.material, design, horizon=2 * many, seed=0)

    offers = islice(drawn_rows(inputs.weighting, np.random.default_rng(0)), 6)
    with pytest.raises(dtr.DesignError, match=rf"in round {many + 1} .* would give none of the 50 usable units"):
        offer_rows(player, offers, inputs)


def test_a_rule_followed_by_next_to_no_weight_is_refused() -> None:
    cohort = two_stage_cohort()
    weights = np.where(cohort.arms[:, 0] == 0, 1.0, 1e-12)

    with pytest.raises(dtr.DesignError, match=r"with \de-1\d of the weight"):
        replay(dtr.FixedRegime(rule={"first": "b", "second": "b"}), cohort, horizon=10, paths=1, weights=weights)


def test_that_drop_outs_carry_the_weight_is_said_where_no_row_comes() -> None:
    cohort = two_stage_cohort()

    with pytest.raises(dtr.DesignError, match=r"drop-outs, which are drawn too, carry 100 % of the weight"):
        replay(dtr.UniformRandom(), cohort, horizon=10, paths=1, weights=np.where(cohort.dropped_out, 1e12, 1.0))


@pytest.mark.parametrize(
    ("row", "arms", "outcome"),
    [(2, (1, 0), 1.0), (2, (-1, 1), 1.0), (2, (0, 5), 1.0), (2, (-1, -1), 1.0), (2, (0, 0), np.inf)],
)
def test_a_cohort_that_contradicts_its_design_is_refused(row: int, arms: tuple[int, int], outcome: float) -> None:
    cohort = two_stage_cohort()
    cohort.arms[row], cohort.outcome[row] = arms, outcome

    with pytest.raises(dtr.DesignError, match="unit '2' has an outcome"):
        replay(dtr.UniformRandom(), cohort, horizon=10, paths=1)


def test_a_unit_that_entered_a_stage_without_its_context_is_refused() -> None:
    cohort = two_stage_cohort()
    row = int(np.flatnonzero(cohort.arms[:, 1] >= 0)[0])
    cohort.contexts[1]["z"][row] = np.nan

    with pytest.raises(dtr.DesignError, match="incomplete context"):
        replay(dtr.UniformRandom(), cohort, horizon=10, paths=1)


def test_units_that_a_learning_policy_collected_are_refused_but_for_its_forced_rounds() -> None:
    cohort = Cohort.from_log(synthetic_session(dtr.DTRBandit(q=5, delta=0.5), 60, seed=1).log)

    with pytest.raises(dtr.DesignError, match=r"DTRBandit chose the arms of these .* alone, cohort.forced\(\)"):
        replay(dtr.Greedy(), cohort, horizon=10, paths=1)
    assert len(replay(dtr.Greedy(), cohort.forced(), horizon=10, paths=1).curve()) > 0


@small
def test_a_policy_of_ones_own_may_learn_though_it_inherits_from_one_that_does_not() -> None:
    cohort = two_stage_cohort()

    class Own(dtr.UniformRandom): ...

    found = [replay(policy, cohort, horizon=5, paths=1).learns for policy in (Own(), dtr.UniformRandom())]

    assert found == [True, False]


# -- Replay on resampled cohorts: the same ones for all policies, propensities estimated anew, failures counted


resampled = pytest.mark.filterwarnings(
    "ignore::dtrbandit.evaluation.SmallCohort", "error::dtrbandit.evaluation.EqualWeights"
)
GREEDY, RULE = dtr.Greedy(), dtr.FixedRegime(rule={"first": "a", "second": "b"})
SIZE = {"horizon": 40, "paths": 3, "cohorts": 30, "cohort_paths": 2}


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return two_stage_cohort(300).with_propensities(dtr.PropensityModel(penalty=1.0))


@pytest.fixture(scope="module")
def found(cohort: Cohort) -> Replay:
    return replay(GREEDY, cohort, **SIZE)  # type: ignore[arg-type]


def resampling(cohort: Cohort, policy: dtr.Greedy | dtr.FixedRegime) -> Resampling:
    inputs = prepare(policy, cohort, None, horizon=40, seed=0, once=False)
    return Resampling(policy, cohort, None, inputs, 30, 2)


@resampled
def test_resampled_outcomes_are_those_of_a_replay_of_the_resampled_units(cohort: Cohort, found: Replay) -> None:
    """Written out: draw units, estimate propensities anew, play, look up outcomes."""
    own = resampling(cohort, GREEDY)
    rows = own.rows(7)
    again = cohort.of(rows).with_propensities(dtr.PropensityModel(penalty=1.0))
    inputs = prepare(GREEDY, again, None, horizon=40, seed=own.prepared(7).seed, once=False)

    assert found.resampled is not None
    for path in range(2):
        assert found.resampled[7, path].tolist() == again.outcome[play_path(inputs, path).rows].tolist()


@resampled
def test_a_resample_has_as_many_units_drawn_with_replacement_and_differs_from_others(cohort: Cohort) -> None:
    own = resampling(cohort, GREEDY)

    drawn = [own.rows(number) for number in range(30)]

    assert {len(rows) for rows in drawn} == {300}
    assert len({rows.tobytes() for rows in drawn}) == 30
    assert np.mean([len(np.unique(rows)) for rows in drawn]) == pytest.approx(300 * (1 - np.exp(-1)), rel=0.03)


@resampled
def test_all_policies_meet_the_same_resampled_cohorts(cohort: Cohort) -> None:
    first, second = resampling(cohort, GREEDY), resampling(cohort, RULE)

    assert (first.rows(3) == second.rows(3)).all()
    assert first.prepared(3).seed == second.prepared(3).seed
    assert (first.prepared(3).weighting.weights == second.prepared(3).weighting.weights).all()


@resampled
def test_propensities_are_estimated_anew_and_given_weights_go_with_their_units(cohort: Cohort) -> None:
    own = resampling(cohort, GREEDY)
    rows, given = own.rows(0), np.random.default_rng(0).gamma(2.0, size=300)
    assert cohort.propensities is not None

    refitted = own.prepared(0).weighting.weights
    kept = with_other(own, weights=given).prepared(0).weighting

    assert refitted != pytest.approx(cohort.propensities.weights[rows])
    assert np.corrcoef(refitted, cohort.propensities.weights[rows])[0, 1] > 0.8  # of the same model
    assert (kept.weights == given[rows]).all()


@resampled
def test_the_paths_through_the_cohort_itself_are_what_they_were(cohort: Cohort, found: Replay) -> None:
    alone = replay(GREEDY, cohort, horizon=40, paths=3)

    assert (alone.rows == found.rows).all()
    assert alone.value == found.value
    assert alone.resampled is None


@resampled
@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_processes(cohort: Cohort, found: Replay) -> None:
    again = replay(GREEDY, cohort, n_jobs=2, **SIZE)  # type: ignore[arg-type]

    assert again.resampled is not None
    assert found.resampled is not None
    assert (again.resampled == found.resampled).all()


@resampled
def test_cohorts_that_cannot_be_played_are_left_out_and_too_many_give_no_interval() -> None:
    """Greedy tries every plan. Two units completed b, then b, and a resample has neither in e⁻² of all cases."""
    few = two_stage_cohort(300)
    rare = (few.arms == [1, 1]).all(axis=1) & ~few.dropped_out
    keep = ~rare | (np.cumsum(rare) <= 2)
    cohort = few.of(np.flatnonzero(keep)).with_propensities(dtr.PropensityModel(penalty=1.0))

    found = replay(GREEDY, cohort, **SIZE)  # type: ignore[arg-type]

    assert found.resampled is not None
    lost = int(np.isnan(found.resampled[:, 0, 0]).sum())
    assert 1.5 < lost < 15
    assert found.interval_over == "over paths through this cohort"
    assert f"no interval over cohorts: {lost} of 30 resampled cohorts could not be replayed" in str(found)
    assert found.no_interval is not None
    assert "no usable unit of this cohort completed b, then b" in found.no_interval


@resampled
def test_few_lost_cohorts_still_give_an_interval() -> None:
    outcomes = np.zeros((40, 2, 5))
    outcomes[:2] = np.nan

    assert Resampled(outcomes, "why").reason is None
    outcomes[:3] = np.nan
    assert Resampled(outcomes, "because of this").reason == (
        "no interval over cohorts: 3 of 40 resampled cohorts could not be replayed (because of this)"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cohorts": 29}, "at least 30 resampled cohorts.*found cohorts=29"),
        ({"cohort_paths": 1}, "2 paths"),
        ({"paths": 1}, "2 paths"),
        ({"cohorts": 2.5}, "cohorts"),
        ({"horizon": 10**12}, "GB of memory"),
    ],
)
@resampled
def test_resamples_that_give_no_valid_interval_are_refused(
    cohort: Cohort, change: dict[str, float], message: str
) -> None:
    with pytest.raises(dtr.DesignError, match=message):
        replay(GREEDY, cohort, **{**SIZE, **change})  # type: ignore[arg-type]


@resampled
def test_units_that_taught_the_policy_which_chose_their_arms_are_not_replayed(cohort: Cohort) -> None:
    adaptive = with_other(cohort, origin=Origin("adaptive", "DTRBandit(q=1, delta=1.0)"))

    with pytest.raises(dtr.DesignError, match="needs independent units"):
        replay(GREEDY, adaptive, **SIZE)  # type: ignore[arg-type]
