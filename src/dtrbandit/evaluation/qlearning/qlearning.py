"""Q-learning from a cohort: backward induction with one regression per stage and arm (paper, section 3.1).

A row counts where its target is known, as in a session (docs/readings.md, 1, 2, 5 and 7). ``dropouts`` says what
becomes of the rows of a unit that dropped out. Standard errors and intervals: ``uncertainty.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.contexts import history_arms, history_features
from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError, NotEstimable, ObservationError, ProtocolError
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.induction.induction import (
    DROPOUTS,
    Dropouts,
    LearnedRegime,
    Sample,
    backward_induction,
    sample_of,
)
from dtrbandit.evaluation.induction.regression import LEAST_SQUARES, StageRegression
from dtrbandit.evaluation.qlearning.plots import plot_leads, plot_rule
from dtrbandit.evaluation.qlearning.summary import QLearningSummary, describe_rule
from dtrbandit.evaluation.qlearning.tables import coefficient_table, contrast_table, effect_table, recommendations
from dtrbandit.evaluation.qlearning.uncertainty import Bootstrap, Uncertainty
from dtrbandit.kernels.arrays import Matrix
from dtrbandit.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class QLearning(LearnedRegime):
    """The regime that a cohort suggests: at each stage the arm with the largest estimated Q.

    Parameters
    ----------
    dropouts
        ``"imputed"``: a unit that dropped out keeps each row whose next context was seen. ``"complete"``: it has no
        rows. ``"weighted"``: it has none, and the others stand for it by the inverse of their probability of staying,
        which the cohort must know.
    bootstrap
        How units are resampled where the estimates before the last stage are not regular.
    regression
        How each stage and arm is fitted; by default by least squares. CONTRIBUTING.md says how to add one.

    Attributes
    ----------
    coef_
        A tidy frame: stage, arm, term, estimate, std_error (HC3, all stages together), low, high and method: the 95 %
        interval that holds there. The intercept's term is ``1``. Where the method is not ``sandwich``, the estimate is
        not regular, and has no standard error.
    coefficients_
        The estimates as matrices, (K_m, d_m) for each stage.
    value_
        The estimated value of the regime: the weighted mean over all units of the largest Q at the first stage. It is
        too high on average, because the same units chose the regime and value it. ``summary()`` has the cross-fitted
        value beside it, if the cohort has propensities.

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

    def __init__(
        self,
        design: Design,
        *,
        dropouts: Dropouts = "imputed",
        bootstrap: Bootstrap | None = None,
        regression: StageRegression = LEAST_SQUARES,
    ) -> None:
        if not isinstance(design, Design):
            raise DesignError(f"Q-learning needs a Design, found {design!r}; a file is read by Design.from_toml")
        if dropouts not in DROPOUTS:
            raise DesignError(f"dropouts must be one of {', '.join(DROPOUTS)}, found {shown(dropouts)}")
        if not isinstance(bootstrap, Bootstrap | None):
            raise DesignError(f"bootstrap must be a Bootstrap, such as Bootstrap(xi=0.05), found {shown(bootstrap)}")
        if not isinstance(regression, StageRegression):
            raise DesignError(
                f"regression must be a StageRegression, such as LeastSquares(), found {shown(regression)}"
            )
        self.design, self.regression = design, regression
        self.dropouts: Dropouts = dropouts
        self.bootstrap = bootstrap or Bootstrap()
        self._learned: QLearningSummary | None = None

    def fit(self, cohort: Cohort) -> QLearning:
        """Estimate the coefficients of every stage and arm, the last stage first, and return self."""
        _require_own(cohort, self.design)
        sample = sample_of(cohort, self.dropouts, self.regression)
        _require_every_arm(cohort, sample)
        stages = backward_induction(sample)
        best = sample.q_values(0, stages[0].coefficients).max(axis=1)
        value = float(np.average(best, weights=cohort.weights))
        adaptive, stated = cohort.collected_by is not None, cohort.origin is not None
        uncertainty = Uncertainty(sample, stages, self.bootstrap, adaptive, stated)
        self._learned = QLearningSummary(cohort, self.dropouts, uncertainty, value)
        return self

    # -- what was learned ------------------------------------------------------------------------------------

    @property
    def coef_(self) -> pd.DataFrame:
        """A row for each stage, arm and term, with its estimate and standard error."""
        return coefficient_table(self.design, self._known().uncertainty)

    def contrasts(self, reference: Mapping[str, str] | None = None) -> pd.DataFrame:
        """Return how the coefficients of each arm differ from those of a reference arm, with the intervals that hold.

        ``reference`` names an arm for a stage; a stage that it leaves out has its first arm.
        """
        return contrast_table(self.design, self._known().uncertainty, reference or {})

    def effect(self, stage: str, history: Mapping[str, float | str], *, reference: str | None = None) -> pd.DataFrame:
        """Return by how much each feasible arm's Q̂ differs from that of a reference arm for a history, with intervals.

        The reference is the first feasible arm unless it is named.
        """
        m = self.design.stage_number(stage)
        feasible = _feasible(self.design, m, history)
        features = history_features(self.design, m, history, where=f"effect at stage {stage!r}")
        return effect_table(self.design, self._known().uncertainty, m, features, feasible, reference)

    def regularity(self) -> pd.DataFrame:
        """Return for each stage how many units are near a boundary between two later arms, and their share by weight.

        A unit is near if some feasible arm cannot be told from its best one. Where some are, the targets of the stage
        have a kink, and no standard error is valid there; ``coef_`` and ``contrasts()`` then have other intervals.
        """
        import pandas as pd

        known = self._known().uncertainty
        rows = [(stage.name, *known.regularity[m], known.method(m)) for m, stage in enumerate(self.design.stages)]
        return pd.DataFrame(rows, columns=["stage", "units", "near", "share", "method"])

    @property
    def coefficients_(self) -> tuple[Matrix, ...]:
        """The estimates, (K_m, d_m) for each stage."""
        return tuple(stage.coefficients for stage in self._known().uncertainty.stages)

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
        values = (self.coefficients_[m] * features).sum(axis=1).tolist()
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
        for m, (stage, coefficients) in enumerate(zip(self.design.stages, self.coefficients_, strict=True)):
            arm = _q_values(cohort, m, coefficients).argmax(axis=1)
            labels = np.array(stage.arms, dtype=object)[arm]
            columns[stage.name] = np.where(cohort.entered[:, m], labels, None)
        return pd.DataFrame(columns, index=pd.Index(cohort.units, name="unit"), dtype=object)

    def recommendations(self, cohort: Cohort) -> pd.DataFrame:
        """Return for each unit and stage that it entered the arm, the next best one, its lead, and how sure that is.

        ``confidence`` is the confidence that the arm is best; it is no probability that it is, and no P.
        """
        _require_own(cohort, self.design)
        return recommendations(cohort, self._known().uncertainty)

    def rule(self, stage: str) -> str:
        """Return the rule of a stage in words: which arm has the largest Q̂, were all feasible.

        Examples
        --------
        ``ssri if 0.3·start - 1.2·slope >= 4; otherwise other``
        """
        m = self.design.stage_number(stage)
        terms = self.design.parsed[m].features.names
        return describe_rule(self.design.stages[m].arms, terms, self.coefficients_[m])

    def summary(self) -> QLearningSummary:
        """Return the fit in tables, per stage and arm, with what to keep in mind when reading them."""
        return self._known()

    def plot(self, stage: str, cohort: Cohort, ax: Axes | None = None) -> Axes:
        """Draw by how much the recommended arm leads at a stage, for the units of a cohort that had a choice there."""
        _require_own(cohort, self.design)
        m = self.design.stage_number(stage)
        return plot_leads(stage, self.design.stages[m].arms, _q_values(cohort, m, self.coefficients_[m]), ax)

    def plot_rule(
        self, stage: str, cohort: Cohort, ax: Axes | None = None, *, over: Sequence[str] | None = None
    ) -> Axes:
        """Draw the rule of a stage: the recommended arm, where it is separated from the others, and where units are.

        ``over`` names one or two columns, or earlier stages for their arms; by default those that move the differences
        between arms most. An arm is separated from the others where the intervals of its lead over each lie above 0.
        Where no interval is valid, the picture says so.
        """
        _require_own(cohort, self.design)
        return plot_rule(self._known().uncertainty, cohort, self.design.stage_number(stage), over, ax)

    def plot_who(
        self, stage: str, cohort: Cohort, ax: Axes | None = None, *, over: Sequence[str] | None = None
    ) -> Axes:
        """``plot_rule``, by its name of the first release."""
        return self.plot_rule(stage, cohort, ax, over=over)

    def __repr__(self) -> str:
        stages = ", ".join(stage.name for stage in self.design.stages)
        return f"<QLearning of {stages}, {'not fitted' if self._learned is None else f'value {self.value_:.4g}'}>"

    def _known(self) -> QLearningSummary:
        if self._learned is None:
            raise ProtocolError("nothing was learned yet: call fit(cohort) first")
        return self._learned


def _require_own(cohort: object, design: Design) -> None:
    if not isinstance(cohort, Cohort) or cohort.design != design:
        raise DesignError(f"Q-learning needs a Cohort read with its own design, found {cohort!r}; read it again")


def _q_values(cohort: Cohort, m: int, coefficients: Matrix) -> Matrix:
    """Return Q̂_m of each unit and arm, (n, K_m), −∞ where infeasible or not known."""
    q: NDArray[np.float64] = np.einsum("nd,kd->nk", cohort.features[m], coefficients)
    return np.where(cohort.feasible[m] & cohort.entered[:, m, None], q, -np.inf)


def _require_every_arm(cohort: Cohort, sample: Sample) -> None:
    """Refuse a cohort in which some arm has no row: nobody tells how it does."""
    if cohort.dropped_out.all():
        raise NotEstimable(
            f"none of the {counted(len(cohort), 'unit')} has an outcome, so that there is nothing to learn from; "
            "is outcome= the right column?"
        )
    missing = []
    for m, stage in enumerate(cohort.design.stages):
        for arm, label in enumerate(stage.arms):
            received = cohort.arms[:, m] == arm
            if not sample.rows[m][:, arm].any():
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
