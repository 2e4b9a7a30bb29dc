"""Numbers by name, which kernels share; ``constants.pxd`` says the same to the compiler, and a test compares them."""

from __future__ import annotations

import math

INFINITY, NAN = math.inf, math.nan

# facts: arrived at a stage, given an arm, outcome known, left before a stage, lost, amended, void, an arm closed
ARRIVED, GIVEN, COMPLETED, LEFT, LOST, AMENDED, VOIDED, CLOSED = range(8)
NO_FACT = -1
STAYED, UNKNOWN, VOID = -1, -2, -3  # of where a unit left
UNDER_WAY, GONE, ENDED = range(3)  # of a unit in a study: left early, and with nothing more to come

# reasons of a decision
FORCED, CLEAR, CLOSE, GREEDY, EXPLORE, OPTIMISTIC, UNIFORM, RULE, ONLY_FEASIBLE = range(9)
# rows of a sheet
Q_TILDE, Q_HAT, PROPENSITY, CONTENDER = range(4)

# least squares
FULL, SHORT, ILL = range(3)  # rows of full rank; lacking rank; too ill-conditioned for cross moments
RANK_TOLERANCE = 1e-10  # of the largest singular value of the rows at unit column length
NORMAL_TOLERANCE = 1e-4  # beyond this, normal equations lose more than half the digits
SWEEPS = 40  # of a decomposition, at most

# levels of the exact learner
LEVELS = 64  # at most; radii shrink to about the length of a step
BLOCK = 32  # slots per block of a level's chain
FIRST_LIMIT = 16  # units in levels before the radii are first set from data
RIDGE = 1e-6  # of each feature's own mean square: a direction may not have varied yet
ROUNDING = 1e-14  # of the length of the coefficients
SHRINK = 2.0  # from one radius to the next
NARROWEST = 0.5  # smallest radius, in usual steps

# optimistic ridge regression
ROWS = 128  # of a block
ALL = -1  # of the arms
TWICE = 2.0 * (1.0 - 1e-12)  # a determinant that has doubled exactly counts, whatever the roots were rounded to

FORCED_BLOCKS = 64  # they double in distance: more than any trial will see

BUILT_FROM = b""  # a compiled module's source, as a hash
