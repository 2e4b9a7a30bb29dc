"""Three policies to compare."""

import dtrbandit as dtr

POLICIES = {"uniform": dtr.UniformRandom(), "DTRB": dtr.DTRBandit(q=5, delta=0.5), "greedy": dtr.Greedy()}
