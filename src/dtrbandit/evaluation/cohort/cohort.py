"""A cohort: finished units from data, each with its contexts, arms and outcome (paper, section 5.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.contexts import LARGEST
from dtrbandit.design.feasibility import Barred, sets_of
from dtrbandit.design.spec import Design
from dtrbandit.errors import DesignError, ObservationError
from dtrbandit.evaluation.cohort.feasibility import feasible_at, infeasible_arms, nodes_of
from dtrbandit.evaluation.cohort.frames import LeftOut, Missing, Recode, Roles, read_frame, require_missing
from dtrbandit.evaluation.cohort.logs import read_log_units, teaching
from dtrbandit.evaluation.cohort.origin import ADAPTIVE, Kind, Origin, as_scheduled, forced_alone, overridden
from dtrbandit.evaluation.cohort.summary import describe
from dtrbandit.evaluation.cohort.validation import FrameReader, in_rows
from dtrbandit.kernels.arrays import Mask, Matrix, Vector
from dtrbandit.record.events import Event, Taught
from dtrbandit.words import counted

if TYPE_CHECKING:
    from dtrbandit.evaluation.propensities.fitted import FittedPropensities
    from dtrbandit.evaluation.propensities.model import PropensityModel


@dataclass(frozen=True, eq=False, repr=False)
class Cohort:
    """n finished units, with their contexts, arms and outcomes.

    ``from_frame`` and ``from_log`` check them; the constructor trusts its caller.

    Attributes
    ----------
    units
        Their ids.
    contexts
        ``contexts[m][column]`` is (n,), NaN where it was not observed.
    arms
        (n, M), −1 where none was given.
    outcome
        (n,), NaN where a unit dropped out.
    weights
        (n,), how many units each stands for; 1 unless the data say otherwise.
    propensities
        How probable it was that each unit had the arms it had, and stayed; None unless estimated.
    origin
        How the arms came about: randomised, observational, or adaptive by which policy; with what a log recorded of
        each decision. None where nothing is said.
    excluded
        For each stage, (n, K_m): the arms that the design allows and that a unit could not have, since they were
        contraindicated or closed, or nothing was left after them. None where there are none.
    left_out
        Which units of the frame are none of the cohort's, because a covariate of theirs is blank, and how many lack
        which; nobody unless ``from_frame`` has ``missing="drop"``.

    Examples
    --------
    >>> import pandas as pd
    >>> from dtrbandit import Stage
    >>> design = Design([Stage("diet", ("plain", "rich"), "1 + weight")])
    >>> frame = pd.DataFrame({"weight": [80, 91], "A": [0, 1], "Y": [1.5, None]})
    >>> cohort = Cohort.from_frame(frame, design, arms=["A"], outcome="Y", recode={"A": {0: "plain", 1: "rich"}})
    >>> cohort.arms[:, 0].tolist(), cohort.dropped_out.tolist()
    ([0, 1], [False, True])
    """

    design: Design
    units: tuple[str, ...]
    contexts: tuple[Mapping[str, Vector], ...]
    arms: NDArray[np.int8]
    outcome: Vector
    weights: Vector
    propensities: FittedPropensities | None = field(default=None, kw_only=True)
    origin: Origin | None = field(default=None, kw_only=True)
    left_out: LeftOut = field(default_factory=LeftOut, kw_only=True)
    excluded: tuple[Mask, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.propensities is not None and not self._has_rows_of(self.propensities.cohort):
            raise DesignError(
                "the propensities were estimated from units with other arms or outcomes than these; "
                "use replace(cohort, propensities=None, …), then with_propensities again"
            )

    @classmethod
    def from_frame(  # noqa: PLR0913  # what each column of a frame is, by name
        cls,
        frame: object,
        design: Design,
        *,
        arms: Sequence[str],
        outcome: str,
        unit: str | None = None,
        weights: str | None = None,
        recode: Mapping[str, Recode] | None = None,
        exclude: Mapping[str, Mapping[str, str]] | None = None,
        missing: Missing = "refuse",
        origin: Kind | None = None,
    ) -> Cohort:
        """Read a cohort from a frame with a row per unit, and check it against the design.

        A blank arm is filled in where only one arm is feasible. A unit without an outcome dropped out after its last
        arm. A unit with an outcome left early if ``enter_if`` keeps it out of a stage. Contexts of stages that a unit
        did not reach are kept. ``docs/data.md`` says more.

        Parameters
        ----------
        frame
            A pandas frame; an Arrow table, or what speaks the Arrow PyCapsule protocol, such as a polars frame; or a
            CSV or Parquet file. The columns that the design names hold the contexts.
        arms
            The column of each stage's arm.
        outcome
            The column of Y, higher is better; blank for units that dropped out.
        unit
            The column of the units' ids; the row's number by default.
        weights
            The column that says how many units each stands for.
        recode
            For columns of arms, what a cell means: ``{"A1": {1: "ssri", -1: "other"}}``, None for no arm. Labels,
            also as numbers, need none.
        exclude
            The columns that say by 0 or 1 for whom an arm is contraindicated: ``{"first": {"ssri": "no_ssri"}}``.
        missing
            What becomes of a unit with a blank covariate at a stage that it is known to have reached: ``"refuse"``
            reads nothing and names its row; ``"drop"`` leaves the unit out, and counts it in ``left_out``. A drop-out
            needs no covariates of stages after its last arm.
        origin
            How the arms came about, if it is known: ``"randomised"``; ``"observational"``, by the unit's own record;
            or ``"adaptive"``, by what earlier units had taught. For the last, intervals need ``from_log``. An exported
            trial tells it by itself. Where nobody says it, intervals assume that no policy learnt from earlier units,
            and what is printed says so.

        Raises
        ------
        DesignError
            The frame cannot be read, or lacks a column.
        ObservationError
            Rows do not fit the design; the message lists everything that is wrong, by rows.
        """
        if not isinstance(design, Design):
            raise DesignError(f"a cohort needs a Design, found {design!r}; a file is read by Design.from_toml")
        require_missing(missing)
        roles = Roles(arms, outcome, unit, weights, {} if recode is None else recode, exclude or {})
        table = read_frame(frame)
        found = FrameReader(design, table, roles, missing).read()
        columns = found.contexts, found.arms, found.outcome, found.weights
        cohort = cls(
            design,
            found.units,
            *columns,
            left_out=found.left_out,
            origin=Origin.of_export(table) if origin is None else Origin.named(origin),
            excluded=found.excluded,
        )
        _require_usable(cohort, found.rows)
        return cohort

    @classmethod
    def from_log(cls, log: Iterable[Event], *, design: Design | None = None) -> Cohort:
        """Return the units of a log in the order of enrolment, up to the first that has not ended.

        They are as they stand after overrides and corrections. ``origin`` has how their arms came about. ``design`` is
        needed only where it holds Python functions, which a log cannot.
        """
        found = read_log_units(log, design)
        cohort = cls(
            found.design,
            tuple(each.unit for each in found.units),
            tuple({name: found.column(name) for name in own} for own in found.design.columns),
            found.arms(),
            found.outcome,
            np.ones(len(found.units)),
            origin=found.origin,
            excluded=found.excluded,
        )
        _require_usable(cohort, np.ones(len(cohort), dtype=np.bool_))
        return cohort

    def __len__(self) -> int:
        return len(self.outcome)

    def with_propensities(self, model: PropensityModel) -> Cohort:
        """Return the cohort with the propensities that ``model`` estimates from it."""
        return replace(self, propensities=model.fit(self))

    def forced(self) -> Cohort:
        """Return the units of a log's forced rounds alone, an ordinary randomised trial, with the arms scheduled.

        Which rounds are forced, and to which plan, does not depend on outcomes. So intervals for independent units are
        valid for them, if patients who come early and late are alike.
        """
        return forced_alone(self)

    def as_scheduled(self) -> Cohort:
        """Return the units of a log with the arms that were decided, in place of those that overrides gave."""
        return as_scheduled(self)

    def of(self, rows: Mask | NDArray[np.int64]) -> Cohort:
        """Return the cohort of some units, by a mask (n,) or by their numbers, without propensities."""
        return replace(
            self,
            units=tuple([self.units[row] for row in np.arange(len(self.units))[rows].tolist()]),
            contexts=tuple({name: values[rows] for name, values in context.items()} for context in self.contexts),
            arms=self.arms[rows],
            outcome=self.outcome[rows],
            weights=self.weights[rows],
            propensities=None,
            origin=None if self.origin is None else self.origin.of(rows),
            excluded=None if self.excluded is None else tuple(excluded[rows] for excluded in self.excluded),
        )

    def teaching(self, design: Design) -> list[Taught]:
        """Return what each unit teaches a new trial of this design, as ``Session(..., prior=cohort)`` asks for it."""
        return teaching(self, design)

    @property
    def collected_by(self) -> str | None:
        """Who chose the arms by what earlier units had taught; None if nobody did.

        Such units are not independent, and intervals for independent units are not valid.
        """
        if self.origin is None or self.origin.kind != ADAPTIVE:
            return None
        return self.origin.policy or "a policy that learnt"

    @property
    def overridden(self) -> Mask:
        """Which units of a log were given another arm than was decided, at which stage, (n, M)."""
        return overridden(self)

    @property
    def dropped_out(self) -> Mask:
        """Which units have no outcome, (n,)."""
        return np.isnan(self.outcome)

    @property
    def left_early(self) -> Mask:
        """Which units left by ``enter_if``, with their outcome, before the last stage, (n,)."""
        return ~self.dropped_out & (self.arms[:, -1] < 0)

    @property
    def left_or_lost(self) -> Mask:
        """Which units have no outcome, and are kept out of their next stage by ``enter_if``, (n,).

        Whether they left early or were lost, the data cannot tell. They count as drop-outs.
        """
        either: Mask = np.any([self.left_or_lost_at(m) for m in range(len(self.design.stages))], axis=0)
        return either

    @cached_property
    def features(self) -> tuple[Matrix, ...]:
        """ψ_m of each unit, (n, d_m) for each stage; NaN where its context is not whole."""
        return tuple(self._features(m) for m in range(len(self.design.stages)))

    @cached_property
    def entered(self) -> Mask:
        """Which units arrived at which stage with a whole context and entered it, (n, M).

        A unit may have entered and dropped out before it was given an arm.
        """
        entered = np.ones(self.arms.shape, dtype=np.bool_)
        for m in range(len(self.design.stages)):
            if m:
                entered[:, m] = entered[:, m - 1] & (self.arms[:, m - 1] >= 0)
            entered[:, m] &= _all_known(self._columns(m), len(self)) & self.admission(m)[1]
        return entered

    def admission(self, m: int) -> tuple[Mask, Mask]:
        """Return whose admission to stage ``m`` by ``enter_if`` is known, and who is admitted, (n,) each."""
        condition, everybody = self.design.parsed[m].condition, np.ones(len(self), dtype=np.bool_)
        if condition is None:
            return everybody, everybody
        columns = self._columns(m)
        known = _all_known({name: columns[name] for name in condition.columns}, len(self))
        return known, known & condition.mask(columns)

    @cached_property
    def feasible(self) -> tuple[Mask, ...]:
        """Which arms were feasible for a unit after its earlier arms, (n, K_m) for each stage; none without these.

        An arm that was given counts as feasible.
        """
        tree, nodes, infeasible = self.design.tree, nodes_of(self.design.tree, self.arms), infeasible_arms(self)
        feasible = [feasible_at(tree, nodes[:, m], arms) for m, arms in enumerate(self.design.arm_counts)]
        if infeasible is not None:
            feasible = [own & ~barred for own, barred in zip(feasible, infeasible, strict=True)]
        return tuple(feasible)

    @cached_property
    def barred(self) -> tuple[Barred, ...]:
        """What each unit could not have, stages and arms by number; an arm that it had it could have."""
        barring, sets = sets_of(infeasible_arms(self), len(self))
        return tuple(sets[number] for number in barring.tolist())

    def left_or_lost_at(self, m: int) -> Mask:
        """Return which units with all arms before stage ``m`` and no outcome are kept out of it, (n,)."""
        known, admitted = self.admission(m)
        arrived: Mask = np.all(self.arms[:, :m] >= 0, axis=1)
        return arrived & self.dropped_out & known & ~admitted

    def _has_rows_of(self, other: Cohort) -> bool:
        return np.array_equal(self.arms, other.arms) and np.array_equal(self.outcome, other.outcome, equal_nan=True)

    def _columns(self, m: int) -> dict[str, Vector]:
        return {name: values for context in self.contexts[: m + 1] for name, values in context.items()}

    def _features(self, m: int) -> Matrix:
        columns = self._columns(m)
        given = {stage.name: self.arms[:, k].astype(np.int64) for k, stage in enumerate(self.design.stages[:m])}
        known = _all_known(columns, len(self)) & np.all(self.arms[:, :m] >= 0, axis=1)
        matrix = np.full((len(self), self.design.dimensions[m]), np.nan)
        chosen = {name: values[known] for name, values in columns.items()}
        before = {name: arms[known] for name, arms in given.items()}
        matrix[known] = self.design.parsed[m].features.matrix(chosen, before, int(known.sum()))
        return matrix

    def __repr__(self) -> str:
        return f"<Cohort of {counted(len(self), 'unit')}>"

    def __str__(self) -> str:
        return describe(self)


def _all_known(columns: Mapping[str, Vector], n: int) -> Mask:
    return np.all([np.isfinite(values) for values in columns.values()], axis=0) if columns else np.ones(n, dtype=bool)


def _require_usable(cohort: Cohort, rows: Mask) -> None:
    """Refuse features that overflow, such as products of large columns; ``rows`` of the frame are the cohort's."""
    for m, features in enumerate(cohort.features):
        wrong = cohort.entered[:, m] & ~(np.abs(features) <= LARGEST).all(axis=1)
        if wrong.any():
            found = np.zeros(len(rows), dtype=np.bool_)
            found[rows] = wrong
            stage = cohort.design.stages[m].name
            raise ObservationError(
                f"stage {stage!r}: features must be finite and at most {LARGEST:g} in size: {in_rows(found)} (counted "
                "from 1, without the header); put columns on another scale"
            )
