"""The commands and their options. What does the work is imported when it begins."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dtrbandit.cli import backups  # noqa: F401  # which adds its commands to those of a trial
from dtrbandit.cli.error_handling import ErrorHandlingGroup
from dtrbandit.cli.options import DEFAULT, Json, Storage
from dtrbandit.cli.serve import serve
from dtrbandit.cli.trial import trial
from dtrbandit.cli.trial_keys import keys
from dtrbandit.reproduce import NAMES

RESULTS = Path("results")

app = typer.Typer(
    name="dtrbandit",
    cls=ErrorHandlingGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        from dtrbandit._version import NUMERICS, __version__

        typer.echo(f"dtrbandit {__version__}, numerics {NUMERICS}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[  # acted on when it is read
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the release and end.")
    ] = False,
) -> None:
    """DTR bandits: learn which treatment to give first and which next, while treating."""


ALL = "all"

if TYPE_CHECKING:  # which checks the members of enumerations that are written out
    What = StrEnum
else:
    What = StrEnum("What", {name: name for name in (*NAMES, ALL)})

Out = Annotated[
    Path | None, typer.Option(help="Folder for the results; by default results/<name>.", show_default=False)
]
CLAIMS = "Claims have as many as they need; with fewer here than by default, fewer in proportion."
SIZE = "By default each experiment's own; for the figures, as in the paper, 40 paths of 10,000 rounds."
Jobs = Annotated[int, typer.Option(help="Processes; -1 for all cores. Results do not depend on it.")]


@app.command()
def reproduce(
    what: Annotated[What, typer.Argument(help="Which experiments.")],
    out: Out = None,
    paths: Annotated[
        int | None, typer.Option(help=f"Independent repetitions. {SIZE} {CLAIMS}", show_default=False)
    ] = None,
    horizon: Annotated[int | None, typer.Option(help=f"Rounds of a path. {SIZE}", show_default=False)] = None,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    data: Annotated[Path | None, typer.Option(help="For table1: STAR*D in the field's wide shape.")] = None,
    jobs: Jobs = -1,
    json: Json = False,
) -> None:
    """Run the paper's experiments again: pictures, tables, and each claim with our measurement and a verdict.

    The extensions are what the paper says but never shows, such as delay, more arms or stages, and wrong features.

    Paths that the folder already holds are not run again. So more paths extend it, and after Ctrl-C the same command
    goes on. A claim holds, is refuted, or cannot be told. The exit code is 1 if one is refuted.
    """
    from dtrbandit.cli.show import show
    from dtrbandit.reproduce import experiments
    from dtrbandit.reproduce import reproduce as run

    chosen = experiments(what.value, data=data)
    folders = {name: (out or RESULTS) / name if what.value == ALL or out is None else out for name in chosen}
    results = [
        run(each, folders[name] / own, paths=paths, horizon=horizon, seed=seed, n_jobs=jobs, progress=True)
        for name, folder in chosen.items()
        for own, each in folder.items()
    ]
    show(what.value, results, as_json=json)
    if any(result.refuted for result in results):
        raise typer.Exit(1)


@app.command()
def simulate(
    study: Annotated[Path, typer.Argument(help="A study file; examples/study.toml explains every entry.")],
    out: Out = None,
    paths: Annotated[int | None, typer.Option(help="In place of the file's.", show_default=False)] = None,
    jobs: Jobs = -1,
    json: Json = False,
) -> None:
    """Run a study that a file describes: table, picture and curves, and every round as Parquet.

    Paths that the folder already holds are not run again. So more paths extend it, and after Ctrl-C the same command
    goes on.
    """
    from dtrbandit.cli.show import show
    from dtrbandit.cli.studies import run_file

    folder = RESULTS / study.stem if out is None else out
    result = run_file(study, folder, paths=paths, n_jobs=jobs)
    show(study.stem, [result], as_json=json)


Data = Annotated[Path, typer.Argument(help="A row per unit: CSV or Parquet.")]
DesignFile = Annotated[Path, typer.Argument(help="A design, such as examples/design.toml.")]
Arms = Annotated[list[str], typer.Option(help="The columns of the arms, one per stage: A1,A2.")]
Outcome = Annotated[str, typer.Option(help="The column of the outcome, higher is better; blank for drop-outs.")]
Unit = Annotated[str | None, typer.Option(help="The column of ids; rows are numbered without one.")]
Weights = Annotated[str | None, typer.Option(help="The column that says how many units each stands for.")]
RecodeOf = Annotated[list[str], typer.Option(help="What cells of arms mean: 'A1: 1=ssri, -1=other, 0='; 0= is no arm.")]

ChoiceOf = Annotated[
    list[str], typer.Option(help="How arms were chosen: 'second=1 + age', 'second=uniform', 'second=0.5'.")
]
StayingOf = Annotated[list[str], typer.Option(help="Who stayed until a stage: 'second=1 + age'.")]
Penalty = Annotated[float, typer.Option(help="Of the logistic models; 0 is maximum likelihood.")]
Clip = Annotated[tuple[float, float] | None, typer.Option(help="Bounds for estimated probabilities.")]


class Blanks(StrEnum):
    """What becomes of a unit with a blank covariate."""

    refuse = "refuse"
    drop = "drop"


class Chosen(StrEnum):
    """How the arms of a trial were chosen."""

    randomised = "randomised"
    observational = "observational"
    adaptive = "adaptive"


class DropOuts(StrEnum):
    """What becomes of the rows of units that dropped out."""

    imputed = "imputed"
    complete = "complete"
    weighted = "weighted"


DropOutsOf = Annotated[
    DropOuts,
    typer.Option(help="Rows of drop-outs in Q-learning: imputed, complete (none), or weighted by 1/P(staying)."),
]
MissingOf = Annotated[
    Blanks, typer.Option(help="A unit with a blank covariate: refuse the file, or drop the unit and count it.")
]
OriginOf = Annotated[
    Chosen | None,
    typer.Option(
        help="How arms were chosen: at random, by the unit's own record, or by what earlier units had taught."
    ),
]


@app.command()
def fit(
    data: Data,
    design: DesignFile,
    arms: Arms,
    outcome: Outcome,
    dropouts: DropOutsOf = DropOuts.imputed,
    choice: ChoiceOf = [],
    staying: StayingOf = [],
    penalty: Penalty = 0.0,
    clip: Clip = None,
    unit: Unit = None,
    weights: Weights = None,
    recode: RecodeOf = [],
    missing: MissingOf = Blanks.refuse,
    origin: OriginOf = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Learn from a finished trial which arm to give to whom (Q-learning): coefficients with intervals.

    Writes the coefficients as CSV, and a picture of what is recommended and by how much. With --dropouts weighted,
    --choice or --staying there are propensities, and the value of the regime is cross-fitted.
    """
    from dtrbandit.cli.data import Source, propensities
    from dtrbandit.cli.data import fit as learn
    from dtrbandit.cli.show import show

    source = Source(data, design, arms, outcome, unit, weights, recode, missing.value, origin.value if origin else None)
    needed = choice or staying or dropouts is DropOuts.weighted
    model = propensities(choice, staying, penalty=penalty, clip=clip) if needed else None
    folder = out or RESULTS / data.stem
    show(data.stem, [learn(source, folder, dropouts=dropouts.value, model=model)], as_json=json)


@app.command()
def replay(
    data: Data,
    design: DesignFile,
    arms: Arms,
    outcome: Outcome,
    policy: Annotated[list[str], typer.Option(help="What to replay, as in Python: 'DTRBandit(q=1, delta=50)'.")],
    horizon: Annotated[int, typer.Option(help="Rounds of a path.")] = 1_000,
    paths: Annotated[int, typer.Option(help="Independent repetitions; 60 give a 95 % interval over paths.")] = 60,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    once: Annotated[bool, typer.Option("--once", help="Meet each unit at most once along a path.")] = False,
    cohorts: Annotated[
        int | None,
        typer.Option(
            help="Resampled cohorts, at least 30: intervals are then over cohorts. Without, they are over paths "
            "through this cohort, and say nothing about others.",
            show_default=False,
        ),
    ] = None,
    choice: ChoiceOf = [],
    staying: StayingOf = [],
    penalty: Penalty = 0.0,
    clip: Clip = None,
    equal: Annotated[bool, typer.Option("--equal", help="Draw all units alike: no propensities.")] = False,
    unit: Unit = None,
    weights: Weights = None,
    recode: RecodeOf = [],
    missing: MissingOf = Blanks.refuse,
    origin: OriginOf = None,
    out: Out = None,
    jobs: Jobs = -1,
    json: Json = False,
) -> None:
    """Let policies play through a finished trial: what they would have earned (the paper's Algorithm 2).

    Units are drawn by 1/p, with p from logistic models of how arms were chosen and who stayed. Writes the curves, the
    differences between policies, and how well units with different arms overlap.
    """
    from dtrbandit.cli.data import Source, propensities, replay_all
    from dtrbandit.cli.show import show

    source = Source(data, design, arms, outcome, unit, weights, recode, missing.value, origin.value if origin else None)
    model = None if equal else propensities(choice, staying, penalty=penalty, clip=clip)
    size = {"horizon": horizon, "paths": paths, "seed": seed, "n_jobs": jobs, "replace": not once}
    folder = out or RESULTS / data.stem
    show(
        data.stem, [replay_all(source, policy, folder, model=model, cohorts=cohorts, **size)], as_json=json
    )  # fmt: skip


@app.command()
def evaluate(
    data: Data,
    design: DesignFile,
    arms: Arms,
    outcome: Outcome,
    regime: Annotated[
        list[str],
        typer.Option(
            help="A rule, 'name: first=ssri, second=other', or QLearning. By default all plans and QLearning."
        ),
    ] = [],
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    dropouts: DropOutsOf = DropOuts.imputed,
    choice: ChoiceOf = [],
    staying: StayingOf = [],
    penalty: Penalty = 0.0,
    clip: Clip = None,
    unit: Unit = None,
    weights: Weights = None,
    recode: RecodeOf = [],
    missing: MissingOf = Blanks.refuse,
    origin: OriginOf = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Say what units of a finished trial would have earned under a regime: by weighting, regression, and both.

    Values have 95 % intervals. QLearning is the regime that the trial suggests; its value is cross-fitted. Writes the
    values and their differences as CSV, and a forest plot.
    """
    from dtrbandit.cli.data import Source, evaluate_all, propensities
    from dtrbandit.cli.show import show

    source = Source(data, design, arms, outcome, unit, weights, recode, missing.value, origin.value if origin else None)
    model = propensities(choice, staying, penalty=penalty, clip=clip)
    folder = out or RESULTS / data.stem
    values = evaluate_all(source, regime, folder, model=model, dropouts=dropouts.value, seed=seed)
    show(data.stem, [values], as_json=json)


trial.add_typer(keys, name="keys")
app.add_typer(trial, name="trial")
app.command()(serve)


@app.command()
def doctor(storage: Storage = DEFAULT, json: Json = False) -> None:
    """Check SQLite, disk, clock, kernels, and the chain of every trial.

    The exit code is 1 if something is wrong, and 2 if there is no database.
    """
    from dtrbandit.cli.findings import broken_build, report

    if broken := broken_build():
        raise typer.Exit(report(broken, as_json=json))
    from dtrbandit.cli.doctor import examine  # loads kernels

    raise typer.Exit(examine(storage, as_json=json))
