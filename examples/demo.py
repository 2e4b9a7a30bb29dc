"""Play three policies on the synthetic problem of the paper's section 5.2 and print their regret."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import dtrbandit as dtr
from dtrbandit.environments import PotentialOutcomes, Synthetic
from dtrbandit.policies import Policy

POLICIES: dict[str, Policy[Any]] = {
    "DTRB(5, 0.5)": dtr.DTRBandit(q=5, delta=0.5),
    "0.1-Greedy": dtr.EpsilonGreedy(epsilon=0.1),
    "Greedy": dtr.Greedy(),
}


def play(session: dtr.Session, units: PotentialOutcomes, i: int) -> float:
    """Take unit ``i`` through both stages and return its regret (Proposition 1)."""
    assert units.q is not None
    first = int(session.enroll(f"u{i}", {"x1": units.contexts[0]["x1"][i]}).arm) - 1
    decision = session.respond(f"u{i}", {"x2": units.contexts[1]["x2"][i, first]})
    assert decision is not None
    second = int(decision.arm) - 1
    session.complete(f"u{i}", units.outcome[i, first, second])
    q1, q2 = units.q[0][i], units.q[1][i, first]
    return float(q1.max() - q1[first] + q2.max() - q2[second])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=2_000)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    units = Synthetic().draw(chosen.rounds, np.random.default_rng(chosen.seed))
    console = Console()
    table = Table(title=f"Regret over {chosen.rounds} rounds of the synthetic problem (one path)")
    table.add_column("policy")
    for share in ("first quarter", "half", "all"):
        table.add_column(share, justify="right")

    columns = (TextColumn("{task.description:<14}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        for name, policy in POLICIES.items():
            session = dtr.Session(Synthetic().design, policy, seed=chosen.seed)
            regret = np.cumsum(
                [play(session, units, i) for i in progress.track(range(chosen.rounds), description=name)]
            )
            marks = regret[[chosen.rounds // 4 - 1, chosen.rounds // 2 - 1, -1]]
            table.add_row(name, *(f"{mark:.1f}" for mark in marks))
    console.print(table)
    console.print(f"The last decision of {name}, explained:\n{session.enroll('new', {'x1': 0.9})}")


if __name__ == "__main__":
    main()
