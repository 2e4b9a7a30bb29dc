"""Finished trials from the command line: what Q-learning makes of them, and what regimes and policies would earn."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dtrbandit.cli.result import ExplainedTable, Result
from dtrbandit.design.spec import Design
from dtrbandit.design.toml_text import toml_tables, unknown
from dtrbandit.errors import DesignError
from dtrbandit.evaluation import Cohort, PropensityModel, QLearning, Replay, evaluate, replay
from dtrbandit.evaluation.cohort.left_out import Missing
from dtrbandit.plots import Curve, plot_curves
from dtrbandit.policies.builtin import BUILTIN
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.policies.plain_values import policy_from_dict
from dtrbandit.policies.policy import Policy
from dtrbandit.reproduce.reproduction import DOTS_PER_INCH

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

LEARNED = "QLearning"


@dataclass(frozen=True)
class Source:
    """Where a finished trial is, and which of its columns are what."""

    data: Path
    design: Path
    arms: Sequence[str]
    outcome: str
    unit: str | None
    weights: str | None
    recode: Sequence[str]
    missing: Missing = "refuse"

    def read(self) -> Cohort:
        """Read the trial."""
        return Cohort.from_frame(
            self.data,
            Design.from_toml(self.design),
            arms=[name for names in self.arms for name in _listed(names)],
            outcome=self.outcome,
            unit=self.unit,
            weights=self.weights,
            recode=dict(_recoded(entry) for entry in self.recode),
            missing=self.missing,
        )


def fit(source: Source, folder: Path) -> Result:
    """Learn the regime that a trial suggests; write its coefficients, and a picture of what it recommends."""
    cohort = source.read()
    learned = QLearning(cohort.design).fit(cohort)
    picture = _picture(len(cohort.design.stages))
    for stage, ax in zip(
        cohort.design.stages, picture.subplots(1, len(cohort.design.stages), squeeze=False)[0], strict=True
    ):
        learned.plot(stage.name, cohort, ax)
    folder.mkdir(parents=True, exist_ok=True)
    files = (
        _saved(picture, folder / "recommendations.png"),
        _table(learned.coef_, folder / "coefficients.csv"),
        _table(learned.contrasts(), folder / "contrasts.csv"),
        _table(learned.recommendations(cohort), folder / "recommendations.csv"),
    )
    return Result(source.data.stem, ExplainedTable(f"{cohort}\n\n{learned.summary()}", learned.coef_), files)


def replay_all(
    source: Source,
    policies: Sequence[str],
    folder: Path,
    *,
    model: PropensityModel | None,
    **size: Any,
) -> Result:
    """Replay policies on a trial; write their curves, and how alike the units are that had different arms."""
    import pandas as pd

    asked = {text: policy_from_text(text) for text in policies}
    cohort = source.read()
    cohort = cohort if model is None else cohort.with_propensities(model)
    played = {name: replay(policy, cohort, **size, progress=True) for name, policy in asked.items()}
    folder.mkdir(parents=True, exist_ok=True)
    curves = pd.concat([result.curve().assign(policy=name) for name, result in played.items()])
    files = [_saved(_curves(played), folder / "replay.png"), _table(curves, folder / "replay.csv")]
    words = [str(cohort), *(map(str, played.values()))]
    if cohort.propensities is not None:
        words.insert(1, str(cohort.propensities))
        files += [
            _saved(_overlap(cohort), folder / "overlap.png"),
            _table(cohort.propensities.balance(), folder / "balance.csv"),
        ]
    table = pd.concat([result.summary().assign(policy=name) for name, result in played.items()], ignore_index=True)
    return Result(source.data.stem, ExplainedTable("\n\n".join(words), table), tuple(files))


def evaluate_all(source: Source, regimes: Sequence[str], folder: Path, *, model: PropensityModel, seed: int) -> Result:
    """Value regimes on a trial; write the values, their differences, and a forest plot."""
    cohort = source.read()
    asked = regimes_from_text(regimes, cohort.design)
    learned = {
        name: QLearning(cohort.design).fit(cohort) if regime is None else regime for name, regime in asked.items()
    }
    cohort = cohort.with_propensities(model)
    values = evaluate(cohort, learned, seed=seed)
    folder.mkdir(parents=True, exist_ok=True)
    picture = _picture(1)
    picture.set_size_inches(8, 1.5 + 0.3 * len(values.estimates))
    values.plot(picture.subplots())
    files = (
        _saved(picture, folder / "forest.png"),
        _table(values.to_frame(), folder / "values.csv"),
        _table(values.differences(), folder / "differences.csv"),
    )
    words = f"{cohort}\n\n{cohort.propensities}\n\n{values}"
    return Result(source.data.stem, ExplainedTable(words, values.to_frame()), files)


def regimes_from_text(texts: Sequence[str], design: Design) -> dict[str, FixedRegime | None]:
    """Return regimes by name, None for the one that is to be learned; every plan and that one if none is given.

    ``first=ssri, second=other`` has the same arms for everybody. A rule with coefficients is written as in Python,
    ``FixedRegime(rule={first="ssri", second={ssri=[1, 0], other=[0, 0]}})``. A name may stand before, with a colon.
    """
    if not texts:
        stages = [stage.name for stage in design.stages]
        plans = {", then ".join(plan): dict(zip(stages, plan, strict=True)) for plan in design.plans or ()}
        return {**{name: FixedRegime(rule=rule) for name, rule in plans.items()}, LEARNED: None}
    return dict(_regime(text) for text in texts)


def _regime(text: str) -> tuple[str, FixedRegime | None]:
    named = re.fullmatch(r"\s*([^:({=]+):(.*)", text, re.DOTALL)
    name, rest = (named[1].strip(), named[2].strip()) if named else (text.strip(), text.strip())
    if rest == LEARNED:
        return name, None
    if "(" not in rest and "=" in rest:
        return name, FixedRegime(rule=dict(map(_named, _listed(rest))))
    policy = policy_from_text(rest, option="--regime")
    if not isinstance(policy, FixedRegime):
        raise DesignError(
            f"--regime {text!r}: only a fixed rule has a value, such as 'first=ssri, second=other', or {LEARNED}; "
            "what a policy that learns would have earned is said by replay"
        )
    return name, policy


def policy_from_text(text: str, option: str = "--policy") -> Policy[Any]:
    """Return the policy that is written as in Python, such as ``DTRBandit(q=1, delta=50)``; lists as ``[1, 2]``."""
    found = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", text, re.DOTALL)
    try:
        if found is None:
            raise ValueError("a name and perhaps parameters in brackets are expected")
        parameters = toml_tables(f"given = {{{found[2] or ''}}}")["given"]
    except ValueError as error:  # TOML's own is one
        example = "DTRBandit(q=1, delta=50.0)" if option == "--policy" else "'first=ssri, second=other'"
        raise DesignError(f"{option} {text!r}: {error}; write it as {example}") from error
    if found[1] not in BUILTIN:
        raise unknown("policy", found[1], BUILTIN)
    return policy_from_dict({**parameters, "name": found[1]})


def propensities(
    choice: Sequence[str], staying: Sequence[str], *, penalty: float, clip: tuple[float, float] | None
) -> PropensityModel:
    """Return the model that options describe, each formula or probability behind a stage and an equals sign."""
    known = {stage: _number(entry) for stage, entry in map(_named, choice)}
    return PropensityModel(choice=known, staying=dict(map(_named, staying)), penalty=penalty, clip=clip)


def _named(entry: str) -> tuple[str, str]:
    stage, equals, rest = entry.partition("=")
    if not equals:
        raise DesignError(f"{entry!r}: write a stage and its formula, such as 'second=1 + age'")
    return stage.strip(), rest.strip()


def _number(entry: str) -> str | float:
    try:
        return float(entry)
    except ValueError:
        return entry


def _recoded(entry: str) -> tuple[str, Mapping[Any, str | None]]:
    """Read ``A1: 1=ssri, -1=other, 0=``; nothing behind the equals sign is no arm."""
    column, colon, cells = entry.rpartition(":")
    meanings = {cell: arm or None for cell, arm in map(_named, _listed(cells))}
    if not colon or not meanings:
        raise DesignError(f"--recode {entry!r}: write a column and what its cells mean, such as 'A1: 1=ssri, -1=other'")
    return column.strip(), meanings


def _listed(entry: str) -> list[str]:
    return [each.strip() for each in entry.split(",") if each.strip()]


# -- files ---------------------------------------------------------------------------------------------------


def _picture(panels: int) -> Picture:
    from matplotlib.figure import Figure

    return Figure(figsize=(5.5 * panels, 4.2), layout="constrained")


def _curves(played: Mapping[str, Replay]) -> Picture:
    picture = _picture(1)
    picture.set_size_inches(8, 5)
    curves = []
    for number, (name, result) in enumerate(played.items()):
        curve = result.curve()
        curves.append(Curve(name, number, *(curve[column].to_numpy() for column in ("t", "mean", "low", "high"))))
    plot_curves(curves, picture.subplots(), y="average outcome (mean over paths and 95 % band)", zero=False)
    return picture


def _overlap(cohort: Cohort) -> Picture:
    assert cohort.propensities is not None
    models = cohort.propensities.models
    picture = _picture(len(models))
    for model, ax in zip(models, picture.subplots(1, len(models), squeeze=False)[0], strict=True):
        cohort.propensities.plot(model, ax)
    return picture


def _saved(picture: Picture, file: Path) -> Path:
    picture.savefig(file, dpi=DOTS_PER_INCH)
    return file


def _table(frame: pd.DataFrame, file: Path) -> Path:
    frame.to_csv(file, index=False, float_format="%.8g")
    return file
