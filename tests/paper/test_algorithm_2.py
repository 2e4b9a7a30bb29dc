"""Algorithm 2, ReplayDTR: the package against the paper's lines, with policies that refit from scratch."""

from __future__ import annotations

from itertools import chain

import pytest

from dtrbandit.evaluation.replay.replay import replay
from dtrbandit.evaluation.replay.sampling import drawn_rows, sampling_weights
from evaluation.replay_worlds import points, streams, world
from plain.replay import Algorithm, replay_dtr
from policies.twins import plain_twin

MORE = (("DTRB", 12), ("Greedy", 24), ("LSVI-UCB", 12))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("DTRB", 24),
        ("0.3-Greedy", 12),
        ("LSVI-UCB, optimistic", 24),
        *(pytest.param(name, seed, marks=pytest.mark.full) for name, seed in MORE),
    ],
)
@pytest.mark.filterwarnings("ignore::dtrbandit.evaluation.SmallCohort")
@pytest.mark.filterwarnings("ignore::dtrbandit.evaluation.EqualWeights")
def test_replay_is_algorithm_2_with_the_plain_refit(name: str, seed: int) -> None:
    cohort, policy, _ = world(seed, name, n=40)
    found = replay(policy, cohort, horizon=20, paths=1, seed=seed)
    rng, policy_seed = streams(seed, 0)
    order = chain.from_iterable(block.tolist() for block in drawn_rows(sampling_weights(cohort, None), rng))
    rows = points(cohort)

    value, hist = replay_dtr(20, Algorithm(cohort.design, plain_twin(policy), policy_seed), (rows[i] for i in order))

    assert found.value == pytest.approx(value, rel=1e-12)
    assert [rows[row] for row in found.rows[0]] == list(hist)
