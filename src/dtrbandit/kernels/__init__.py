"""Numerics that are compiled when the package is built; not compiled, they run as plain Python with the same bits."""

import warnings

# Compiled, a number that overflows becomes infinite without a word. NumPy's scalars, of plain Python, would warn.
warnings.filterwarnings(
    "ignore", ".* encountered in scalar", RuntimeWarning, r"dtrbandit\.(kernels|estimators|policies)\."
)
