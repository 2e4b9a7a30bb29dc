"""What the paper proves, as numbers: bounds, the constants of its assumptions, and how far practice is from them.

``report(environment, q=, delta=)`` says it in words. Section 4 and the appendices on proofs, delay and K arms.
"""

from dtrbandit.theory.bounds import (
    RegretTerms,
    c_1,
    c_2,
    c_tilde_1,
    c_tilde_2,
    c_tilde_3,
    f,
    f_as_proved,
    informative_from,
    peeling_depth,
    regret_bound,
    regret_bound_as_proved,
    regret_terms,
    regret_terms_as_proved,
    smallest_q,
    smallest_q_as_proved,
    worst_regret,
)
from dtrbandit.theory.concentration import (
    design_fails,
    design_fails_as_proved,
    hat_fails,
    ols_tail,
    tilde_fails,
    tilde_fails_as_proved,
)
from dtrbandit.theory.constants import Constants
from dtrbandit.theory.delay import (
    Delay,
    SubExponential,
    delay_cost,
    delay_of,
    delay_penalty,
    feedback_fails,
    sub_exponential,
)
from dtrbandit.theory.diversity import Diversity, estimate_diversity
from dtrbandit.theory.evidence import Evidence, from_environment, from_session, from_units
from dtrbandit.theory.forced_pulls import forced_pull_bounds, forced_pull_lemma, forced_pull_table, forced_pulls
from dtrbandit.theory.good_events import EventRates, event_rates
from dtrbandit.theory.instance import Instance
from dtrbandit.theory.margin import Margin, alpha_is_one, alpha_is_one_as_proved, estimate_margin
from dtrbandit.theory.report import Report, report
from dtrbandit.theory.synthetic import synthetic_constants, synthetic_gap, synthetic_p, synthetic_phi

__all__ = [
    "Constants",
    "Delay",
    "Diversity",
    "EventRates",
    "Evidence",
    "Instance",
    "Margin",
    "RegretTerms",
    "Report",
    "SubExponential",
    "alpha_is_one",
    "alpha_is_one_as_proved",
    "c_1",
    "c_2",
    "c_tilde_1",
    "c_tilde_2",
    "c_tilde_3",
    "delay_cost",
    "delay_of",
    "delay_penalty",
    "design_fails",
    "design_fails_as_proved",
    "estimate_diversity",
    "estimate_margin",
    "event_rates",
    "f",
    "f_as_proved",
    "feedback_fails",
    "forced_pull_bounds",
    "forced_pull_lemma",
    "forced_pull_table",
    "forced_pulls",
    "from_environment",
    "from_session",
    "from_units",
    "hat_fails",
    "informative_from",
    "ols_tail",
    "peeling_depth",
    "regret_bound",
    "regret_bound_as_proved",
    "regret_terms",
    "regret_terms_as_proved",
    "report",
    "smallest_q",
    "smallest_q_as_proved",
    "sub_exponential",
    "synthetic_constants",
    "synthetic_gap",
    "synthetic_p",
    "synthetic_phi",
    "tilde_fails",
    "tilde_fails_as_proved",
    "worst_regret",
]
