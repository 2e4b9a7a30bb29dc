"""Play three policies on the synthetic problem of the paper's section 5.2 and print their regret."""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import dtrbandit as dtr
from dtrbandit.compiled import play, potential_arrivals
from dtrbandit.environments import PotentialOutcomes, Synthetic
from dtrbandit.policies.compiled_policy import CompiledPolicy

POLICIES: dict[str, CompiledPolicy] = {
    "DTRB(5, 0.5)": dtr.DTRBandit(q=5, delta=0.5),
    "0.1-Greedy": dtr.EpsilonGreedy(epsilon=0.1),
    "Greedy": dtr.Greedy(),
}


def regret(units: PotentialOutcomes, arms: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the regret up to each round (Proposition 1)."""
    assert units.q is not None
    t, (first, second) = np.arange(len(arms)), arms.T
    q1, q2 = units.q[0], units.q[1][t, first]
    return np.cumsum(q1.max(axis=1) - q1[t, first] + q2.max(axis=1) - q2[t, second])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5_000)
    options.add_argument("--paths", type=int, default=40)
    chosen = options.parse_args()
    console, design = Console(), Synthetic().design
    final: dict[str, list[NDArray[np.float64]]] = {name: [] for name in POLICIES}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        for path in progress.track(range(chosen.paths), description="paths"):
            units = Synthetic().draw(chosen.rounds, np.random.default_rng(path))
            arrivals = potential_arrivals(units)
            for name, policy in POLICIES.items():
                final[name].append(regret(units, play(policy, arrivals, design, seed=path).arms))
    table = Table(title=f"Regret on the synthetic problem, {chosen.paths} paths of {chosen.rounds} rounds")
    for heading in ("policy", "mean at half", "mean at the end", "worst path"):
        table.add_column(heading, justify="left" if heading == "policy" else "right")
    for name, paths in final.items():
        half, end = np.array(paths)[:, chosen.rounds // 2 - 1], np.array(paths)[:, -1]
        table.add_row(name, f"{half.mean():.1f}", f"{end.mean():.1f}", f"{end.max():.1f}")
    console.print(table)
    console.print(
        "Greedy is lucky on most paths and stuck for good on some; ε-Greedy never stops paying for exploring.\n"
    )
    explain(console)


def explain(console: Console) -> None:
    """Enrol some units one by one, and print the last decision."""
    session = dtr.Session(Synthetic().design, POLICIES["DTRB(5, 0.5)"])
    units = Synthetic().draw(100, np.random.default_rng(0))
    for i in range(100):
        first = int(session.enroll(f"u{i}", {"x1": units.contexts[0]["x1"][i]}).arm) - 1
        decision = session.respond(f"u{i}", {"x2": units.contexts[1]["x2"][i, first]})
        assert decision is not None
        session.complete(f"u{i}", units.outcome[i, first, int(decision.arm) - 1])
    console.print(
        f"A decision of DTRBandit for the next patient:\n{session.enroll('next', {'x1': 0.4})}", highlight=False
    )


if __name__ == "__main__":
    main()
