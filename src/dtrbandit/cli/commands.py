"""The commands, their options, and what each leads to; the work is done elsewhere, and imported when it begins."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dtrbandit.cli.reactions import reactions

RESULTS = Path("results")

app = typer.Typer(
    name="dtrbandit",
    help="DTR bandits: learn which treatment to give first and which next, while treating.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class What(StrEnum):
    """What can be reproduced."""

    figure1 = "figure1"
    figure2 = "figure2"
    extensions = "extensions"
    all = "all"


Out = Annotated[
    Path | None, typer.Option(help="Folder for the results; by default results/<name>.", show_default=False)
]
USUAL = "By default each experiment's own, for the figures the paper's 40 paths of 10,000 rounds."
Jobs = Annotated[int, typer.Option(help="Processes; -1 for all cores. Results do not depend on it.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and progress to stderr.")]


@app.command()
def reproduce(
    what: Annotated[What, typer.Argument(help="Which experiments.")],
    out: Out = None,
    paths: Annotated[int | None, typer.Option(help=f"Independent repetitions. {USUAL}", show_default=False)] = None,
    horizon: Annotated[int | None, typer.Option(help=f"Rounds of a path. {USUAL}", show_default=False)] = None,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    jobs: Jobs = -1,
    json: Json = False,
) -> None:
    """Run the paper's experiments again: pictures, tables, and each claim with our measurement and a verdict.

    The extensions are what the paper says but never shows: delay, arms, stages, margin, one stage, wrong features.

    What a folder holds already is not run again: more paths extend it, and so does the same command after Ctrl-C.
    Exit code 1 if a claim does not hold.
    """
    with reactions():
        from dtrbandit.cli.show import show
        from dtrbandit.reproduce import EXPERIMENTS
        from dtrbandit.reproduce import reproduce as run

        names = list(EXPERIMENTS) if what is What.all else [what.value]
        folders = {name: (out or RESULTS) / name if what is What.all or out is None else out for name in names}
        results = [
            run(each, folders[name] / own, paths=paths, horizon=horizon, seed=seed, n_jobs=jobs, progress=True)
            for name in names
            for own, each in EXPERIMENTS[name].items()
        ]
        show(what.value, results, as_json=json)
        if not all(result.holds for result in results):
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

    What the folder holds already is not run again: more paths extend it, and so does the same command after Ctrl-C.
    """
    with reactions():
        from dtrbandit.cli.show import show
        from dtrbandit.cli.studies import run_file

        folder = RESULTS / study.stem if out is None else out
        result = run_file(study, folder, paths=paths, n_jobs=jobs)
        show(study.stem, [result], as_json=json)
