"""Pictures of margin and diversity show what was estimated."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np

from dtrbandit import theory
from dtrbandit.environments import Synthetic

mpl.use("Agg")


def test_the_picture_shows_each_stage_with_its_power_law() -> None:
    import matplotlib.pyplot as plt

    margin = theory.estimate_margin(Synthetic(), np.random.default_rng(0), units=2000)
    ax = plt.subplots()[1]

    assert margin.plot(ax) is ax
    first, second = margin.stages
    assert ax.get_legend_handles_labels()[1] == [
        "first: 1 and 2",
        f"bound γκ^α of {first}",
        "second: 1 and 2 after 1",
        "second: 1 and 2 after 2",
        f"bound γκ^α of {second}",
    ]
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == len(ax.lines) == 5
    assert ax.get_xscale() == ax.get_yscale() == "log"
    plt.close("all")


def test_the_picture_shows_phi_against_delta() -> None:
    import matplotlib.pyplot as plt

    found = theory.estimate_diversity(Synthetic(), np.random.default_rng(0), delta=0.2, units=2000)
    ax = found.plot()

    curves, dots = ax.lines[::2], ax.lines[1::2]
    assert [line.get_label() for line in curves] == ["first", "second"]
    assert [float(np.ravel(line.get_ydata())[0]) for line in dots] == list(found.phi)
    assert [line.get_label() for line in dots] == [
        f"{name} at Δ = 0.2: φ = {phi:.2g}" for name, phi in zip(("first", "second"), found.phi, strict=True)
    ]
    assert len(ax.get_legend_handles_labels()[1]) == len(ax.lines)
    assert all(float(np.max(line.get_ydata())) > phi for line, phi in zip(curves, found.phi, strict=True))
    plt.close("all")
