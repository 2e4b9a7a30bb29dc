"""Q-learning from a cohort: backward induction with one regression per stage and arm (paper, section 3.1).

========================  ======================  ===================================================================
paper                     here                    meaning
========================  ======================  ===================================================================
β̂_{a,m}                   ``coefficients_[m][a]`` least-squares coefficients
Ŷ_j                       ``_targets``            max over the arms feasible for unit j of the next stage's estimate;
                                                  its outcome, if the unit left early or this is the last stage
Q̂_m(h, a)                 ``q``                   β̂_{a,m}ᵀ ψ_m(h)
========================  ======================  ===================================================================

A row counts where its target is known, as in a session (docs/readings.md, 1, 2, 5 and 7): a unit that dropped out keeps
the rows of the stages before the last one that it entered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.condition import Mask
from dtrbandit.design.contexts import history_arms, history_features
from dtrbandit.design.formula import Matrix, Vector
from dtrbandit.design.spec import Design
from dtrbandit.errors import DesignError, NotEstimable, ObservationError, ProtocolError
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.qlearning.leads import plot_leads
from dtrbandit.evaluation.qlearning.regression import regress
from dtrbandit.evaluation.qlearning.summary import ArmFit, QLearningSummary

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class _Learned(NamedTuple):
    arms: tuple[ArmFit, ...]
    coefficients: tuple[Matrix, ...]
    value: float
    units: int


class QLearning:
    """The regime that a cohort suggests: at each stage the arm with the largest estimated Q.

    Attributes
    ----------
    coef_
        A tidy frame: stage, arm, term, estimate, std_error (HC3). The intercept's term is ``1``.
    coefficients_
        The estimates as matrices, (K_m, d_m) for each stage.
    value_
        The estimated value of the regime: the weighted mean over all units of the largest Q at the first stage. It is
        too high on average, because the same units chose the regime and value it.

    Examples
    --------
    >>> import pandas as pd
    >>> from dtrbandit import Stage
    >>> design = Design([Stage("diet", ("plain", "rich"), "1")])
    >>> frame = pd.DataFrame({"A": ["plain", "plain", "rich"], "Y": [1.0, 2.0, 5.0]})
    >>> fit = QLearning(design).fit(Cohort.from_frame(frame, design, arms=["A"], outcome="Y"))
    >>> fit.recommend("diet", {}), round(fit.value_, 3)
    ('rich', 5.0)
    """

    def __init__(self, design: Design) -> None:
        if not isinstance(design, Design):
            raise DesignError(f"Q-learning needs a Design, found {design!r}; a file is read by Design.from_toml")
        self.design = design
        self._learned: _Learned | None = None

    def fit(self, cohort: Cohort) -> QLearning:
        """Estimate the coefficients of every stage and arm, the last stage first, and return self."""
        _require_own(cohort, self.design)
        counted = [_counted(cohort, m) for m in range(len(self.design.stages))]
        _require_every_arm(cohort, counted)
        fits: list[ArmFit] = []
        coefficients: list[Matrix] = []
        for m in reversed(range(len(self.design.stages))):
            targets = _targets(cohort, m, coefficients[0] if coefficients else None)
            stage = [self._fit_arm(cohort, m, arm, counted[m], targets) for arm in range(self.design.arm_counts[m])]
            fits = [*stage, *fits]
            coefficients.insert(0, np.array([fit.regression.coefficients for fit in stage]))
        best = _best_value(cohort, 0, coefficients[0])
        value = float(np.average(best, weights=cohort.weights))
        self._learned = _Learned(tuple(fits), tuple(coefficients), value, len(cohort))
        return self

    def _fit_arm(self, cohort: Cohort, m: int, arm: int, counted: Mask, targets: Vector) -> ArmFit:
        rows = counted & (cohort.arms[:, m] == arm)
        regression = regress(cohort.features[m][rows], targets[rows], cohort.weights[rows])
        alone = tuple(cohort.units[row] for row in np.flatnonzero(rows)[regression.alone])
        stage, terms = self.design.stages[m], self.design.parsed[m].features.names
        return ArmFit(stage.name, stage.arms[arm], terms, int(rows.sum()), regression, alone)

    # -- what was learned ------------------------------------------------------------------------------------

    @property
    def coef_(self) -> pd.DataFrame:
        """A row for each stage, arm and term, with its estimate and standard error."""
        import pandas as pd

        rows = [
            (fit.stage, fit.arm, term, float(estimate), float(std_error))
            for fit in self._known().arms
            for term, estimate, std_error in zip(
                fit.terms, fit.regression.coefficients, fit.regression.std_errors, strict=True
            )
        ]
        return pd.DataFrame(rows, columns=["stage", "arm", "term", "estimate", "std_error"])

    @property
    def coefficients_(self) -> tuple[Matrix, ...]:
        """The estimates, (K_m, d_m) for each stage."""
        return self._known().coefficients

    @property
    def value_(self) -> float:
        """The mean of the largest Q at the first stage."""
        return self._known().value

    @property
    def notes_(self) -> tuple[str, ...]:
        """Which arms have too few or too uniform units for all their coefficients or standard errors."""
        return tuple(note for fit in self._known().arms for note in fit.notes)

    def q(self, stage: str, history: Mapping[str, float | str]) -> dict[str, float]:
        """Return Q̂ of each arm at ``stage`` for a history: columns by name, earlier arms by their stage's name.

        Only what the stage's features use is needed.
        """
        m = self.design.stage_number(stage)
        features = history_features(self.design, m, history, where=f"q at stage {stage!r}")
        values = (self._known().coefficients[m] * features).sum(axis=1).tolist()
        return dict(zip(self.design.stages[m].arms, values, strict=True))

    def recommend(self, stage: str, history: Mapping[str, float | str]) -> str:
        """Return the feasible arm with the largest Q̂ at ``stage``, the first of equals.

        Earlier arms are needed where the features use them, or where they decide which arms are feasible.
        """
        feasible = _feasible(self.design, self.design.stage_number(stage), history)
        q = self.q(stage, history)
        return max(feasible, key=q.__getitem__)

    def recommend_all(self, cohort: Cohort) -> pd.DataFrame:
        """Return for each unit of a cohort the arm recommended at each stage that it entered, None at others.

        At a later stage, the recommendation is the one after the arms that the unit was really given.
        """
        import pandas as pd

        _require_own(cohort, self.design)
        columns = {}
        for m, (stage, coefficients) in enumerate(zip(self.design.stages, self._known().coefficients, strict=True)):
            arm = _q_values(cohort, m, coefficients).argmax(axis=1)
            labels = np.array(stage.arms, dtype=object)[arm]
            columns[stage.name] = np.where(cohort.entered[:, m], labels, None)
        return pd.DataFrame(columns, index=pd.Index(cohort.units, name="unit"), dtype=object)

    def summary(self) -> QLearningSummary:
        """Return the fit in tables, per stage and arm, with what to keep in mind when reading them."""
        learned = self._known()
        return QLearningSummary(learned.arms, learned.value, learned.units)

    def plot(self, stage: str, cohort: Cohort, ax: Axes | None = None) -> Axes:
        """Draw by how much the recommended arm leads at a stage, for the units of a cohort that had a choice there."""
        _require_own(cohort, self.design)
        m = self.design.stage_number(stage)
        return plot_leads(stage, self.design.stages[m].arms, _q_values(cohort, m, self._known().coefficients[m]), ax)

    def __repr__(self) -> str:
        stages = ", ".join(stage.name for stage in self.design.stages)
        return f"<QLearning of {stages}, {'not fitted' if self._learned is None else f'value {self.value_:.4g}'}>"

    def _known(self) -> _Learned:
        if self._learned is None:
            raise ProtocolError("nothing was learned yet: call fit(cohort) first")
        return self._learned


def _require_own(cohort: object, design: Design) -> None:
    if not isinstance(cohort, Cohort) or cohort.design != design:
        raise DesignError(f"Q-learning needs a Cohort read with its own design, found {cohort!r}; read it again")


def _counted(cohort: Cohort, m: int) -> Mask:
    """Return whose row counts at stage ``m``: who had an arm there and has a known target."""
    known = ~cohort.dropped_out
    if m + 1 < cohort.arms.shape[1]:
        known = known | cohort.entered[:, m + 1]
    return (cohort.arms[:, m] >= 0) & known


def _targets(cohort: Cohort, m: int, later: Matrix | None) -> Vector:
    """Return the pseudo-outcomes of stage ``m``, (n,), given the coefficients of the next stage."""
    if later is None:
        return cohort.outcome
    return np.where(cohort.entered[:, m + 1], _best_value(cohort, m + 1, later), cohort.outcome)


def _best_value(cohort: Cohort, m: int, coefficients: Matrix) -> Vector:
    best: Vector = _q_values(cohort, m, coefficients).max(axis=1)
    return best


def _q_values(cohort: Cohort, m: int, coefficients: Matrix) -> Matrix:
    """Return Q̂_m of each unit and arm, (n, K_m), −∞ where infeasible or not known."""
    q: NDArray[np.float64] = np.einsum("nd,kd->nk", cohort.features[m], coefficients)
    return np.where(cohort.feasible[m] & cohort.entered[:, m, None], q, -np.inf)


def _require_every_arm(cohort: Cohort, counted: list[Mask]) -> None:
    """Refuse a cohort in which some arm has no row: nobody tells how it does."""
    if cohort.dropped_out.all():
        raise NotEstimable(
            f"none of the {len(cohort):,} units has an outcome, so that there is nothing to learn from; "
            "is outcome= the right column?"
        )
    missing = []
    for m, stage in enumerate(cohort.design.stages):
        for arm, label in enumerate(stage.arms):
            received = cohort.arms[:, m] == arm
            if not (counted[m] & received).any():
                what = f"the {received.sum():,} that did dropped out" if received.any() else "none did"
                missing.append(f"{label!r} at stage {stage.name!r} ({what})")
    if missing:
        raise NotEstimable(
            f"units that received these arms, with what followed, are needed and there is none: {'; '.join(missing)}; "
            "leave out of the design the plans that have them (plans=[...], and the arms if no plan has them)"
        )


def _feasible(design: Design, m: int, history: Mapping[str, float | str]) -> list[str]:
    """Return the labels of the arms feasible at stage ``m`` after the arms that the history names."""
    where = f"recommend at stage {design.stages[m].name!r}"
    given = history_arms(design, m, history, where=where)
    earlier = [(k, given[stage.name]) for k, stage in enumerate(design.stages[:m]) if stage.name in given]
    nodes = [
        node
        for node, path in enumerate(design.tree.arms_to)
        if len(path) == m and all(path[k] == arm for k, arm in earlier)
    ]
    choices = {design.tree.feasible[node] for node in nodes}
    if len(choices) == 1:
        return [arm for arm, yes in zip(design.stages[m].arms, choices.pop(), strict=True) if yes]
    if not choices:
        labels = [design.stages[k].arms[arm] for k, arm in earlier]
        raise ObservationError(
            f"{where}: {labels} given before are in no plan; the plans are {list(design.plans or ())}"
        )
    missing = [stage.name for stage in design.stages[:m] if stage.name not in given]
    raise ObservationError(
        f"{where}: which arms are feasible depends on those given at {missing}; add them to the history"
    )
