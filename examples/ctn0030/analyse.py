"""A real two-stage trial from end to end: NIDA-CTN-0030, on prescription opioids.

It writes a report, ``REPORT.md``, and its pictures. The data are public and not part of this repository. The file
``ctn0030.csv`` is looked for where ``DTRBANDIT_DATA`` says, or in ``shared/data`` beside the checkout; ``--data`` names
another place.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import dtrbandit as dtr
from dtrbandit.evaluation import SmallCohort
from dtrbandit.plots import Curve, plot_curves

HERE = Path(__file__).parent
SIGNS = {1: "EMM", -1: "SMM"}
STAYING = "1 + age + heroin30 + base_use_days + sev1 + pos1 + C(first)"
PROPENSITIES = dtr.PropensityModel(choice={"first": "uniform", "second": "uniform"}, staying={"second": STAYING})
ALIKE = {f"{first}, then {second}": (first, second) for first in SIGNS.values() for second in SIGNS.values()}
REGIMES = {name: dtr.FixedRegime(rule={"first": arms[0], "second": arms[1]}) for name, arms in ALIKE.items()}
POLICIES = {
    "DTRBandit(q=5, delta=10)": dtr.DTRBandit(q=5, delta=10.0),
    "EpsilonGreedy(0.1)": dtr.EpsilonGreedy(epsilon=0.1),
    **REGIMES,
}
WIDTH = 100


def data_file() -> Path:
    """Return where the data are, unless told otherwise."""
    beside = HERE.parents[1].parent / "shared" / "data"
    return Path(os.environ.get("DTRBANDIT_DATA", beside)) / "ctn0030.csv"


def read(file: Path) -> dtr.Cohort:
    """Read the trial; only those who were not randomised again can have left with success."""
    frame = pd.read_csv(file)
    frame["success"] = (frame["status"] == "success").astype(float)
    design = dtr.Design.from_toml(HERE / "design.toml")
    recode = {"A1": SIGNS, "A2": SIGNS}
    cohort = dtr.Cohort.from_frame(
        frame, design, arms=["A1", "A2"], outcome="Y", unit="who", recode=recode, origin="randomised"
    )
    return cohort.with_propensities(PROPENSITIES)


# -- pieces of the report ------------------------------------------------------------------------------------


def prose(text: str) -> str:
    return fill(" ".join(text.split()), WIDTH)


def table(frame: pd.DataFrame, names: Mapping[str, str], digits: int = 2) -> str:
    """Return columns of a frame as a table in Markdown, under other names."""
    shown = frame[list(names)].map(lambda cell: _cell(cell, digits))
    rows = [list(names.values()), ["---"] * len(names), *shown.to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(cell: object, digits: int) -> str:
    return number(cell, digits) if isinstance(cell, float) else str(cell)


def number(value: float, digits: int = 2) -> str:
    return "–" if np.isnan(value) else f"{value:.{digits}f}".replace("-", "−")


def block(text: object) -> str:
    return f"```text\n{text}\n```"


def the_trial(cohort: dtr.Cohort) -> Iterator[str]:
    yield "# CTN-0030: who needs counselling beside buprenorphine?"
    yield prose(
        """Written by `examples/ctn0030/analyse.py`. People dependent on prescription opioids were randomised to
        buprenorphine with standard medical management (SMM), or with counselling in addition (EMM). Those who had not
        succeeded were randomised again, to the same two arms. The outcome is minus the percentage of weeks without an
        opioid-negative urine screen, over the phases that a person went through: 0 is best, −100 worst."""
    )
    yield prose(
        f"""Who succeeded in the first phase is not in the public data. The rule is that of whoever derived the file:
        not randomised again, at least two negative and no positive screen late in the phase. It finds
        {cohort.left_early.sum()} people; the others who were not randomised again count as drop-outs."""
    )


def excludes_0(frame: pd.DataFrame, low: str = "low", high: str = "high") -> pd.DataFrame:
    """Return the rows whose interval excludes 0."""
    return frame[(frame[low] > 0) | (frame[high] < 0)]


def pairs_in_words(pairs: pd.DataFrame) -> str:
    """Name pairs of regimes, each with its difference; "none" if there are none."""
    rows = pairs[["regime", "against", "difference"]].itertuples(index=False)
    return "; ".join(f"“{one}” less “{other}” ({number(difference)})" for one, other, difference in rows) or "none"


def named(regimes: Iterable[str]) -> str:
    return "; ".join(f"“{each}”" for each in regimes) or "none"


def told_by_stage(fit: dtr.QLearning, cohort: dtr.Cohort) -> str:
    """Say for how many people at each stage the recommended arm is better by its interval."""
    told = fit.recommendations(cohort).assign(told=lambda frame: frame["low"] > 0).groupby("stage", sort=False)["told"]
    return " and ".join(f"{own.sum():,} of {len(own):,} people at stage {stage}" for stage, own in told)


def the_answer(cohort: dtr.Cohort, fit: dtr.QLearning, values: dtr.Values) -> Iterator[str]:
    contrasts, pairs = fit.contrasts(), values.differences()
    apart, joint = excludes_0(contrasts), excludes_0(pairs, "joint_low", "joint_high")
    always = pairs.set_index(["regime", "against"]).loc[("EMM, then EMM", "SMM, then SMM")]
    limits = f"{number(always.joint_low)} to {number(always.joint_high)}"
    widest = pairs[["joint_low", "joint_high"]].abs().max(axis=None)
    best = values.best()
    kept, beaten = (best["regime"][best["may_be_best"].eq(yes)] for yes in (True, False))
    yield "## The answer"
    yield prose(
        f"""**Who needs counselling?** {"These data do not tell." if apart.empty else ""} The better arm can be told for
        {told_by_stage(fit, cohort)} (95 % intervals, each alone). Of the {len(contrasts)} coefficients by which EMM and
        SMM differ, {len(apart)} have an interval that excludes 0."""
    )
    yield prose(
        f"""**Should everybody have it, or nobody?** {"These data do not tell that either." if joint.empty else ""}
        Counselling at both stages, less none at all: {number(always.difference)} points ({limits}, joint 95 % limits,
        which hold for all {len(pairs)} pairs of regimes together). Pairs that differ by joint limits:
        {pairs_in_words(joint)}."""
    )
    yield prose(
        f"""**Which of the four regimes may be the best (95 %)?** {named(kept)}. Each regime is compared with the best
        alone, in one direction, which tells more than all pairs can. Not the best by it: {named(beaten)}."""
    )
    yield prose(
        f"""**Is it of no use, then?** Nothing here says so. The joint limits reach differences of {widest:.0f} points
        on a scale of 100. And all of it rests on the model of who stayed: {cohort.dropped_out.sum():,} of
        {len(cohort):,} people have no outcome."""
    )


def the_data(cohort: dtr.Cohort) -> Iterator[str]:
    yield "## The trial"
    yield prose(
        """**Who chose the arms:** chance. The trial drew them 1:1 at both stages. Neither clinicians nor people chose
        them, and no policy learnt from earlier people. So `origin="randomised"`, and intervals for independent people
        are valid."""
    )
    yield block(cohort)


def stayers_against_all(cohort: dtr.Cohort) -> pd.DataFrame:
    """Return standardised differences between those who stayed until the second stage and all at risk."""
    assert cohort.propensities is not None
    model = cohort.propensities.model_of("second", "staying")
    rows, stayed = model.risk_set.rows, model.risk_set.happened == 1
    weights, found = 1 / model.probabilities[stayed, 1], []
    for context in cohort.contexts:
        for name, values in context.items():
            if name != "success":
                own = values[rows]
                means = own[stayed].mean(), np.average(own[stayed], weights=weights)
                found.append((name, *((mean - own.mean()) / own.std() for mean in means)))
    return pd.DataFrame(found, columns=["column", "before", "after"])


def the_propensities(cohort: dtr.Cohort, folder: Path) -> Iterator[str]:
    fitted = cohort.propensities
    assert fitted is not None
    picture = Figure(figsize=(5.5, 4.2), layout="constrained")
    fitted.plot("second", picture.subplots(), kind="staying")
    picture.savefig(folder / "staying.png", dpi=100)
    balance = stayers_against_all(cohort)
    worst = balance.set_index("column")["after"].abs()
    yield "## Who stayed"
    yield prose(
        """Both arms had probability ½ at both stages, which is known and not estimated. Staying until the second
        stage is a logistic model."""
    )
    yield block(fitted)
    yield "By how much those who stayed differ from all who could have, in standard deviations of the latter:"
    yield table(balance, {"column": "column", "before": "as they are", "after": "weighted by 1/P(staying)"})
    yield prose(
        f"""What is left is largest for {worst.idxmax()}, {worst.max():.2f}. The drop-outs had far more weeks without a
        negative screen, since a missing screen is none: what follows rests on the model of staying."""
    )
    yield "![How probable staying was](staying.png)"


def the_regime(cohort: dtr.Cohort, folder: Path, fit: dtr.QLearning) -> Iterator[str]:
    stages = [stage.name for stage in cohort.design.stages]
    picture = Figure(figsize=(12, 5.2), layout="constrained")
    for stage, ax in zip(stages, picture.subplots(1, 2), strict=True):
        fit.plot_rule(stage, cohort, ax)
    picture.savefig(folder / "who.png", dpi=100)
    contrasts = fit.contrasts()
    names = {"stage": "stage", "term": "term", "estimate": "EMM less SMM", "low": "95 % from", "high": "to"}
    told = excludes_0(contrasts)
    yield "## Q-learning"
    yield prose(
        "Drop-outs have no rows; those who stayed stand for them by 1/P(staying). By how much the coefficients of EMM "
        "differ from those of SMM:"
    )
    yield table(contrasts, names | {"method": "interval by"})
    yield prose(
        f"{len(told)} of these {len(contrasts)} intervals, each alone, exclude 0. How far the estimates before the "
        "last stage are regular:"
    )
    yield table(fit.regularity(), {"stage": "stage", "units": "units", "near": "near a boundary", "method": "interval"})
    yield "The rule that follows, in words:"
    yield "\n".join(f"- {stage}: {fit.rule(stage)}" for stage in stages)
    yield "![Who gets what](who.png)"
    yield prose(f"The better arm can be told for {told_by_stage(fit, cohort)}.")


def the_values(values: dtr.Values, folder: Path) -> Iterator[str]:
    picture = Figure(figsize=(8, 5.2), layout="constrained")
    values.plot(picture.subplots())
    picture.savefig(folder / "values.png", dpi=100)
    yield "## Values of regimes"
    yield block(values)
    pairs = values.differences()
    alone, joint = excludes_0(pairs), excludes_0(pairs, "joint_low", "joint_high")
    names = {"regime": "regime", "against": "against", "difference": "difference"}
    limits = {"low": "alone: 95 % from", "high": "to", "joint_low": "jointly: 95 % from", "joint_high": "to"}
    yield prose(
        "Where weighted and augmented values differ, few people followed the regime, and how they differ from others "
        "matters; the augmented one makes up for it by regression. The fixed regimes pair by pair, by the augmented "
        "values:"
    )
    yield table(pairs, names | limits)
    yield prose(
        f"""These are {len(pairs)} differences, so the joint limits are what to read: they hold all {len(pairs)} in 95 %
        of trials. Pairs that differ by them: {pairs_in_words(joint)}. Pairs that differ by limits of their own:
        {pairs_in_words(alone)}. Among {len(pairs)} differences that are all 0, some limits of their own exclude 0 more
        often than in 5 % of trials; so those pairs are a question for another trial, and no finding."""
    )
    yield "![Values of regimes](values.png)"


def the_replay(cohort: dtr.Cohort, folder: Path, *, horizon: int, paths: int) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallCohort)  # the report says it
        played = {name: dtr.replay(policy, cohort, horizon=horizon, paths=paths) for name, policy in POLICIES.items()}
    picture, curves = Figure(figsize=(9, 5), layout="constrained"), []
    rounds = np.unique(np.linspace(horizon // 10, horizon, 100).astype(int))
    for number, (name, found) in enumerate(played.items()):
        curve = found.curve(rounds)
        curves.append(Curve(name, number, *(curve[column].to_numpy() for column in ("t", "mean", "low", "high"))))
    plot_curves(curves, picture.subplots(), y="average outcome (mean over paths, 95 % band)", zero=False)
    picture.savefig(folder / "replay.png", dpi=100)
    frame = pd.concat([found.summary().assign(policy=name) for name, found in played.items()])
    weighted = dtr.evaluate(cohort, REGIMES).to_frame().query("estimator == 'weighted'").set_index("regime")["value"]
    frame["weighted"] = frame["policy"].map(weighted).astype(float)
    yield "## Replay"
    yield prose(
        f"""What policies would have earned, had they met these people: {paths} paths of {horizon} rounds. People are
        drawn by 1/p and met again. Standard errors are over paths through this cohort; other cohorts would differ far
        more (the intervals above say how much). A path meets the same people several times, which flatters a policy
        that learns. A fixed regime has the weighted value in the long run; it stands beside. So the curves show how
        fast policies learn on these people, and are no evidence that one policy is better than another."""
    )
    names = {"policy": "policy", "value": "value", "std_error": "std. error over paths", "weighted": "weighted value"}
    more = {"acceptance_rate": "accepted", "different_units": "people met on a path"}
    yield table(frame, names | more)
    yield "![Replay](replay.png)"


def report(cohort: dtr.Cohort, folder: Path, *, horizon: int, paths: int, resamples: int) -> str:
    """Draw the pictures, and return the report."""
    fit = dtr.QLearning(cohort.design, dropouts="weighted", bootstrap=dtr.Bootstrap(resamples=resamples)).fit(cohort)
    values = dtr.evaluate(cohort, {**REGIMES, "learned": fit})
    parts = [
        *the_trial(cohort),
        *the_answer(cohort, fit, values),
        *the_data(cohort),
        *the_propensities(cohort, folder),
        *the_regime(cohort, folder, fit),
        *the_values(values, folder),
        *the_replay(cohort, folder, horizon=horizon, paths=paths),
    ]
    return "\n\n".join(parts) + "\n"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=data_file())
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--horizon", type=int, default=300)
    parser.add_argument("--paths", type=int, default=200)
    parser.add_argument("--resamples", type=int, default=1_000)
    asked = parser.parse_args(arguments)
    if not asked.data.is_file():
        parser.error(f"there is no file {asked.data}; README.md beside this script says where the data come from")
    cohort = read(asked.data)
    asked.out.mkdir(parents=True, exist_ok=True)
    size = {"horizon": asked.horizon, "paths": asked.paths, "resamples": asked.resamples}
    (asked.out / "REPORT.md").write_text(report(cohort, asked.out, **size), encoding="utf-8")


if __name__ == "__main__":
    main()
