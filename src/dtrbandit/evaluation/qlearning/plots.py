"""Pictures of a fit: by how much the recommended arm leads, and who gets which arm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dtrbandit.errors import NotEstimable
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.cohort.origin import ASSUMED
from dtrbandit.evaluation.panels import BINS, LABEL_WIDTH, names_as_they_are, panel
from dtrbandit.evaluation.qlearning.histories import (
    Axis,
    Histories,
    around,
    axis_of,
    chosen_entries,
    describe_typical,
    histories_of,
    matters,
)
from dtrbandit.evaluation.qlearning.uncertainty import ADAPTIVE, BestArms, Uncertainty, best_arms, lead_contrasts
from dtrbandit.kernels.arrays import Matrix, Vector
from dtrbandit.plots import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ESTIMATES = "(estimates alone: recommendations have their intervals)"


def plot_leads(stage: str, arms: tuple[str, ...], q: Matrix, ax: Axes | None = None) -> Axes:
    """Draw by how much the arm with the largest Q leads the next, a colour for each arm that leads.

    These are estimates alone, and the picture says so.

    ``q`` is (n, K), −∞ where an arm is infeasible; units with fewer than two feasible arms are left out.
    """
    from matplotlib.ticker import MaxNLocator

    choosing = q[np.isfinite(q).sum(axis=1) > 1]
    ax = panel(ax, f"by how much the recommended arm leads at stage {stage}\n{ESTIMATES}", "units")
    ax.yaxis.set_major_locator(MaxNLocator("auto", integer=True))  # nobody is half a unit
    if len(choosing):
        ordered = np.sort(choosing, axis=1)
        lead, best = ordered[:, -1] - ordered[:, -2], choosing.argmax(axis=1)
        groups = [(k, lead[best == k]) for k in range(len(arms)) if (best == k).any()]
        ax.hist(
            [own for _, own in groups],
            bins=BINS,
            range=(0.0, max(float(lead.max()), np.finfo(float).tiny)),
            stacked=True,
            color=[PALETTE[k % len(PALETTE)] for k, _ in groups],
            label=[f"{arms[k]} ({len(own):,})" for k, own in groups],
        )
        ax.legend(frameon=False, fontsize=9, title="recommended")
    return names_as_they_are(ax)


STRONG, WEAK = 0.6, 0.16  # opacity
SEED = 0  # of where units of equal entries are drawn
SPREAD = 0.3  # of the room between two grid points, to each side
EVERYBODY = Axis("all units", np.zeros(1), ("all units",))
SEPARATED, NOT_SEPARATED, NO_INTERVAL = "separated", "not separated", "no interval"
CAPTION = {
    SEPARATED: "Separated: Q is above that of every other arm, by 95 % intervals, each alone.",
    NO_INTERVAL: "No interval: some arm has too few units, or none is valid.",
    ADAPTIVE: "There are no intervals: a policy chose the arms by what it had learnt, so that none is valid.",
}


class Scene(NamedTuple):
    """What a picture is drawn from: the units, histories around a typical one, and the best arm of each."""

    known: Uncertainty
    units: Histories
    grid: Histories
    axes: tuple[Axis, ...]
    best_of_units: BestArms
    best_on_grid: BestArms
    held: str

    @property
    def arms(self) -> tuple[str, ...]:
        """The labels of the stage's arms."""
        return self.units.design.stages[self.units.m].arms

    @property
    def adaptive(self) -> bool:
        """Whether no interval is valid, because of how the arms were chosen."""
        return self.known.method(self.units.m) == ADAPTIVE


def plot_rule(
    known: Uncertainty, cohort: Cohort, m: int, over: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw who gets which arm at stage ``m``, over one or two entries of the history.

    With two entries, the plane has the colour of the arm that is recommended to a unit whose other entries are
    typical; dots are units, with their own recommendation. With one, curves are by how much each arm's Q̂ differs from
    that of the first, with 95 % intervals, and a strip below them has the colour of the recommended arm.
    """
    scene = _scene(known, cohort, m, over)
    if len(scene.axes) == 2:
        ax = panel(ax, "", scene.axes[1].name)
        _draw_plane(ax, scene)
    else:
        base = int(np.flatnonzero(scene.grid.feasible.any(axis=0))[0])
        ax = panel(ax, "", f"Q less that of {scene.arms[base]}")
        _draw_differences(ax, scene, base)
    ax.set_xlabel(_caption(scene))
    _explain(ax, scene)
    return names_as_they_are(ax)


def _scene(known: Uncertainty, cohort: Cohort, m: int, over: Sequence[str] | None) -> Scene:
    units, rows = histories_of(cohort, m)
    if not units.size:
        raise NotEstimable(
            f"stage {cohort.design.stages[m].name!r}: no unit of the cohort had a choice of arms, so that there is "
            "nothing to draw; draw another stage"
        )
    coefficients, weights = known.stages[m].coefficients, cohort.weights[rows]
    names = chosen_entries(units, coefficients, weights, over)
    axes = tuple(axis_of(units, name) for name in names)
    axes = axes if over is not None else tuple(sorted(axes, key=lambda axis: len(axis.labels) > 0))
    grid = around(units, axes)
    others = [name for name in matters(units, coefficients, weights) if name not in names]
    return Scene(
        known, units, grid, axes,
        best_arms(known, m, units.features, units.feasible),
        best_arms(known, m, grid.features, grid.feasible),
        describe_typical(units, others),
    )  # fmt: skip


def _draw_plane(ax: Axes, scene: Scene) -> None:
    across, up = scene.axes
    shape = len(up.grid), len(across.grid)
    ax.pcolormesh(
        _edges(across), _edges(up), _colours(scene.best_on_grid).reshape(*shape, 4), shading="flat", zorder=0.5
    )
    x, y = (_scattered(axis, scene.units.entry(axis.name), seed=SEED + k) for k, axis in enumerate(scene.axes))
    size = float(np.clip(60 / np.sqrt(scene.units.size), 2.2, 5.0))
    for arm, state, own in _groups(scene):
        ax.plot(
            x[own], y[own], linestyle="", markersize=size, zorder=3 if state == SEPARATED else 2, **_mark(arm, state)
        )
    _ticks(ax, across, up)


def _draw_differences(ax: Axes, scene: Scene, base: int) -> None:
    axis = scene.axes[0] if scene.axes else EVERYBODY
    ax.axhline(0.0, color="0.4", linewidth=1, zorder=1)
    others = [arm for arm in range(len(scene.arms)) if arm != base and scene.grid.feasible[:, arm].any()]
    for number, arm in enumerate(others):
        rows = np.flatnonzero(scene.grid.feasible[:, arm] & scene.grid.feasible[:, base])
        each = lead_contrasts(scene.grid.features[rows], np.full(len(rows), arm), base, arms=len(scene.arms))
        found, x = scene.known.intervals(scene.units.m, each).interval, axis.grid[rows]
        colour, shift = _colour(arm), (number - (len(others) - 1) / 2) * 0.12
        if axis.labels:
            ax.plot(rows + shift, found.estimate, "s", color=colour, markersize=6, zorder=3)
            ax.vlines(rows + shift, found.low, found.high, color=colour, linewidth=2, zorder=3)
        else:
            ax.plot(x, found.estimate, color=colour, linewidth=2, zorder=3)
            ax.fill_between(x, found.low, found.high, color=colour, alpha=0.2, linewidth=0, zorder=2)
    _draw_strip(ax, scene, axis)
    _ticks(ax, axis)


def _draw_strip(ax: Axes, scene: Scene, axis: Axis) -> None:
    """Draw the recommended arm in a strip below, and above it a tick for each unit."""
    below, above = ax.get_ylim()
    foot = below - 0.22 * (above - below)
    strip = np.array([foot, foot + 0.07 * (above - below)])
    ax.pcolormesh(_edges(axis), strip, _colours(scene.best_on_grid)[None], shading="flat", zorder=1)
    values = scene.units.entry(axis.name) if scene.axes else np.zeros(scene.units.size)
    x = _scattered(axis, values, seed=SEED)
    for arm, state, own in _groups(scene):
        height = np.full(own.sum(), strip[1] + (0.08 if state == SEPARATED else 0.045) * (above - below))
        ax.plot(x[own], height, linestyle="", markersize=3, zorder=2, **_mark(arm, state))
    ax.set_ylim(foot, above)


def _groups(scene: Scene) -> Iterator[tuple[int, str, np.ndarray]]:
    """Yield the units of each recommended arm, those whose arm is separated from the others first."""
    best, separated, valid = scene.best_of_units
    for arm in range(len(scene.arms)):
        for state, own in ((SEPARATED, separated), (NOT_SEPARATED, valid & ~separated), (NO_INTERVAL, ~valid)):
            if ((best == arm) & own).any():
                yield arm, state, (best == arm) & own


def _colour(arm: int) -> str:
    return PALETTE[arm % len(PALETTE)]


def _mark(arm: int, state: str) -> dict[str, Any]:
    """Return the mark of a unit: full where its arm is separated from the others, hollow where not, else a cross."""
    face = "white" if state == NOT_SEPARATED else _colour(arm)
    marker = "x" if state == NO_INTERVAL else "o"
    return {"color": _colour(arm), "marker": marker, "markerfacecolor": face, "markeredgewidth": 0.8}


def _colours(found: BestArms) -> np.ndarray:
    """Return the colour of each grid point, (n, 4): strong where its arm is separated, none without an arm."""
    from matplotlib.colors import to_rgb

    shades = np.array([to_rgb(_colour(arm)) for arm in range(found.best.max(initial=0) + 1)])
    opacity = np.where(found.best < 0, 0.0, np.where(found.separated, STRONG, WEAK))
    return np.column_stack([shades[np.maximum(found.best, 0)], opacity])


def _edges(axis: Axis) -> Vector:
    """Return the edges of the cells around grid points: around their numbers if they have labels."""
    grid = np.arange(len(axis.grid), dtype=np.float64) if axis.labels else axis.grid
    if len(grid) == 1:
        return np.array([grid[0] - 0.5, grid[0] + 0.5])
    middle = (grid[1:] + grid[:-1]) / 2
    ends = 2 * grid[0] - middle[0], 2 * grid[-1] - middle[-1]
    return np.array([ends[0], *middle, ends[1]])


def _scattered(axis: Axis, values: Vector, *, seed: int) -> Vector:
    """Return where units are drawn: at their value, or near the number of their label, so that none hides another."""
    if not axis.labels:
        return values
    rng = np.random.default_rng(seed)
    return np.searchsorted(axis.grid, values) + rng.uniform(-SPREAD, SPREAD, len(values))


def _ticks(ax: Axes, across: Axis, up: Axis | None = None) -> None:
    for axis, of in ((across, ax.xaxis), *(((up, ax.yaxis),) if up else ())):
        if axis.labels:
            of.set_ticks(range(len(axis.grid)), labels=list(axis.labels))
            for label in of.get_ticklabels():
                label.set_parse_math(False)  # a name is shown as it is
    edges = _edges(across)
    ax.set_xlim(edges[0], edges[-1])
    ax.grid(False)


def _caption(scene: Scene) -> str:
    """Name the entry, and say below it what is held at what, and when an arm is separated from the others."""
    stage = scene.units.design.stages[scene.units.m].name
    lines = [scene.axes[0].name if scene.axes else f"stage {stage}"]
    if scene.held:
        lines.append(fill(f"{'Plane' if len(scene.axes) == 2 else 'Curves'} at {scene.held}.", LABEL_WIDTH))
    if scene.adaptive:
        lines.append(fill(CAPTION[ADAPTIVE], LABEL_WIDTH))
    else:
        whole = scene.best_of_units.valid.all() and scene.best_on_grid.valid.all()
        lines.append(fill(CAPTION[SEPARATED] + ("" if whole else f" {CAPTION[NO_INTERVAL]}"), LABEL_WIDTH))
        if not scene.known.origin_stated:
            lines.append(fill(ASSUMED, LABEL_WIDTH))
    return "\n".join(lines)


def _explain(ax: Axes, scene: Scene) -> None:
    """Name the colours above the picture, with the units that each has."""
    from matplotlib.lines import Line2D

    marks, names = [], []
    for arm, state, own in _groups(scene):
        marks.append(Line2D([], [], linestyle="", markersize=5, **_mark(arm, state)))
        verdict = "" if scene.adaptive else f", {state}"
        names.append(f"{scene.arms[arm]}{verdict} ({own.sum():,})")
    title = f"recommended at stage {scene.units.design.stages[scene.units.m].name} (units)"
    legend = ax.legend(
        marks, names, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, fontsize=9, title=title,
        alignment="left",
    )  # fmt: skip
    for text in (legend.get_title(), ax.yaxis.label):
        text.set_parse_math(False)  # a name is shown as it is
