"""Policies: one algorithm, one file (paper, sections 3.2 and 5.1, appendices on delay and on K arms)."""

from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.policies.epsilon_greedy import EpsilonGreedy, Greedy
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.policies.lsvi_ucb import LSVIUCB, UnscaledOutcomes, suggested_beta
from dtrbandit.policies.policy import Choice, Policy
from dtrbandit.policies.uniform_random import UniformRandom

__all__ = [
    "LSVIUCB",
    "Choice",
    "DTRBandit",
    "EpsilonGreedy",
    "FixedRegime",
    "Greedy",
    "Policy",
    "UniformRandom",
    "UnscaledOutcomes",
    "suggested_beta",
]
