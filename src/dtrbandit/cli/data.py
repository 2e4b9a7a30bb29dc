"""Finished trials from the command line: what Q-learning makes of them, and what regimes and policies would earn."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dtrbandit.cli.show import ExplainedTable, Result
from dtrbandit.design.spec import Design
from dtrbandit.design.toml_text import toml_tables, unknown
from dtrbandit.errors import DesignError
from dtrbandit.evaluation import (
    Cohort,
    EqualWeights,
    PropensityModel,
    QLearning,
    Replay,
    SmallCohort,
    compare,
    evaluate,
    replay,
)
from dtrbandit.evaluation.cohort.frames import Missing
from dtrbandit.evaluation.cohort.origin import Kind
from dtrbandit.evaluation.induction.induction import Dropouts
from dtrbandit.evaluation.replay.result import axis_label, rounds_to_draw, show_caution
from dtrbandit.intervals import TOO_FEW
from dtrbandit.plots import Curve, plot_curves
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.registry import BUILTIN, policy_from_dict
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
    origin: Kind | None = None

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
            origin=self.origin,
        )


def fit(source: Source, folder: Path, *, dropouts: Dropouts, model: PropensityModel | None) -> Result:
    """Learn the regime that a trial suggests; write its coefficients, and pictures of what it recommends to whom."""
    cohort = source.read()
    cohort = cohort if model is None else cohort.with_propensities(model)
    learned = QLearning(cohort.design, dropouts=dropouts).fit(cohort)
    folder.mkdir(parents=True, exist_ok=True)
    files = (
        *_recommended(learned, cohort, folder),
        _table(learned.coef_, folder / "coefficients.csv"),
        _table(learned.contrasts(), folder / "contrasts.csv"),
        _table(learned.recommendations(cohort), folder / "recommendations.csv"),
    )
    words = [cohort, *([] if cohort.propensities is None else [cohort.propensities]), learned.summary()]
    return Result(source.data.stem, ExplainedTable("\n\n".join(map(str, words)), learned.coef_), files)


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
    played = dict(_replays(asked, cohort, size))
    folder.mkdir(parents=True, exist_ok=True)
    curves = pd.concat([result.curve().assign(policy=name) for name, result in played.items()])
    files = [_saved(_curves(played), folder / "replay.png"), _table(curves, folder / "replay.csv")]
    words = [str(cohort), *(map(str, played.values()))]
    if len(played) > 1:
        differences = compare(played)
        words.append(differences_in_words(differences))
        files.append(_table(differences, folder / "differences.csv"))
    if cohort.propensities is not None:
        words.insert(1, str(cohort.propensities))
        files += [
            _saved(_overlap(cohort), folder / "overlap.png"),
            _table(cohort.propensities.balance(), folder / "balance.csv"),
        ]
    table = pd.concat([result.summary().assign(policy=name) for name, result in played.items()], ignore_index=True)
    return Result(source.data.stem, ExplainedTable("\n\n".join(words), table), tuple(files))


def _replays(
    policies: Mapping[str, Policy[Any]], cohort: Cohort, size: Mapping[str, Any]
) -> Iterator[tuple[str, Replay]]:
    """Replay policies; a warning about the cohort comes once."""
    for place, (name, policy) in enumerate(policies.items()):
        with warnings.catch_warnings():
            for repeated in (EqualWeights, SmallCohort) if place else ():
                warnings.simplefilter("ignore", repeated)
            yield name, replay(policy, cohort, **size, progress=True)


def differences_in_words(differences: pd.DataFrame) -> str:
    """Return the differences between policies as lines, and over what their intervals are."""
    kinds = differences[["interval", "interval_over"]].drop_duplicates().itertuples(index=False)
    known = [f"{level} intervals {over}" for level, over in kinds if level != TOO_FEW]
    lines = [f"Differences, path by path, {'with ' + ' and '.join(known) if known else TOO_FEW}:"]
    for row in differences.itertuples():
        interval = "" if np.isnan(row.low) else f" ({row.low:+.3g} to {row.high:+.3g})"
        lines.append(f"  {row.policy} less {row.other}: {row.difference:+.3g}{interval}")
    about = differences["interval_of"].unique() if known else ()
    return "\n".join([*lines, *(f"They are about {words}." for words in about)])


def evaluate_all(
    source: Source, regimes: Sequence[str], folder: Path, *, model: PropensityModel, dropouts: Dropouts, seed: int
) -> Result:
    """Value regimes on a trial; write the values, their differences, and a forest plot."""
    cohort = source.read()
    asked = regimes_from_text(regimes, cohort.design)
    cohort = cohort.with_propensities(model)
    learner = QLearning(cohort.design, dropouts=dropouts)
    known = {name: learner.fit(cohort) if regime is None else regime for name, regime in asked.items()}
    values = evaluate(cohort, known, seed=seed)
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
    if found is not None and found[1] not in BUILTIN:
        raise unknown("policy", found[1], BUILTIN)
    try:
        if found is None:
            raise ValueError("a name and perhaps parameters in brackets are expected")
        parameters = toml_tables(f"given = {{{found[2] or ''}}}")["given"]
    except ValueError as error:  # TOML's own is one
        begun = re.match(r"\s*(\w+)", text)
        name = begun[1] if begun and begun[1] in BUILTIN else "DTRBandit"
        example = _example(name, (found[2] or "") if found else "")
        example = example if option == "--policy" else "'first=ssri, second=other'"
        nameless = found is not None and "=" not in found[2]
        reason = "every parameter needs its name" if nameless else error
        raise DesignError(f"{option} {text!r}: {reason}; write it as {example}") from error
    return policy_from_dict({**parameters, "name": found[1]})


def _example(name: str, values: str) -> str:
    """Return how a policy is written, with values that were given without names in the order of its parameters."""
    kind: Any = BUILTIN[name]
    names = [each.name for each in fields(kind)]
    needed = [each.name for each in fields(kind) if each.default is MISSING]
    given = [] if set("=[{") & set(values) else _listed(values)
    pairs = [f"{parameter}={value}" for parameter, value in zip(names, given, strict=False)]
    pairs += [f"{parameter}=…" for parameter in needed if parameter not in names[: len(given)]]
    others = f"; its parameters are {', '.join(names)}" if names else ", which has no parameters"
    return f"{name}({', '.join(pairs)}){others}"


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


def _recommended(learned: QLearning, cohort: Cohort, folder: Path) -> list[Path]:
    """Draw who gets what, and by how much it leads, at each stage where some unit had a choice."""
    choices = cohort.entered & np.stack([own.sum(axis=1) > 1 for own in cohort.feasible], axis=1)
    stages = [stage.name for stage, had in zip(cohort.design.stages, choices.any(axis=0), strict=True) if had]
    files = []
    for name, draw in (("recommendations.png", learned.plot), ("who.png", learned.plot_rule)):
        if stages:
            picture = _picture(len(stages))
            for stage, ax in zip(stages, picture.subplots(1, len(stages), squeeze=False)[0], strict=True):
                draw(stage, cohort, ax)
            files.append(_saved(picture, folder / name))
    return files


def _curves(played: Mapping[str, Replay]) -> Picture:
    picture = _picture(1)
    picture.set_size_inches(8, 5)
    curves, kinds = [], []
    for number, (name, result) in enumerate(played.items()):
        rounds = rounds_to_draw(result.horizon)
        low, high, words = result.band(rounds)
        curves.append(Curve(name, number, rounds, result.curve(rounds)["mean"].to_numpy(), low, high))
        kinds.append(axis_label(len(result.rows), words))
    ax = plot_curves(curves, picture.subplots(), y="\nand ".join(dict.fromkeys(kinds)), zero=False)
    if any(result.caution is not None for result in played.values()):
        show_caution(ax)
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
