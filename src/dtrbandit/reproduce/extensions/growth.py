"""How the regret of free rounds grows. That of forced rounds is log T by the schedule alone.

The free rounds of the last decade cost so many times as much as those of the one before. The logarithm of that factor
to base 10 is the *exponent*: 0 for a logarithm, γ for t^γ. It does not see what is paid before round T/100.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dtrbandit.kernels.arrays import Array
from dtrbandit.reproduce.claims import Claim, Whose, highest, judged, together
from dtrbandit.reproduce.extensions.extension import Setting, Studies
from dtrbandit.reproduce.extensions.forced_rounds import forced_rounds, free_regret
from dtrbandit.reproduce.over_paths import each_of, median
from dtrbandit.simulation.study import Study

ROOT = 0.5  # the exponent of √T


def by_decade(study: Study, setting: Setting) -> Array:
    """Return the mean regret of a free round in the last but one decade and ten times that in the last, (paths, 2)."""
    regret, free, end = free_regret(study, setting), ~forced_rounds(study.horizon, setting), study.horizon
    spans = slice(end // 100, end // 10), slice(end // 10, end)
    first, second = (regret[:, span].sum(axis=1) / max(free[span].sum(), 1) for span in spans)
    return np.stack([first, 10 * second], axis=1)


def exponents(study: Study, setting: Setting) -> Array:
    """Return the exponent of each path, (paths,); −∞ where the last decade costs nothing, ∞ where only it does."""
    first, second = by_decade(study, setting).T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(second > 0, np.log10(second / first), -np.inf)


def free_rounds_slower_than_root(studies: Studies, settings: Mapping[str, Setting]) -> Claim:
    """Claim of these settings that free rounds add up to less than √T on a typical path."""
    level = each_of(len(settings))
    found = {name: median(exponents(studies[name], setting), level=level) for name, setting in settings.items()}
    name = highest(found)
    several = f" (highest limit: {name})" if len(found) > 1 else ""
    return Claim(
        "On a typical path free rounds alone grow slower than √T: it is not the schedule that makes regret logarithmic",
        f"exponent by decade {found[name]:.2f}{several}",
        f"below {ROOT}, that of √T (log T: 0, T: 1)",
        together(judged(each, below=ROOT) for each in found.values()),
        Whose.OURS,
    )
