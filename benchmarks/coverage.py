"""`make coverage`: how often intervals hold the truth, of Q-learning and of means over simulated paths.

`interval_coverage.py` measures the first, `study_coverage.py` the second. `--only` asks for one table. `double` and
`loss`, Q-learning with the double bootstrap and with lost outcomes, are measured only if asked for.
"""

import argparse
from pathlib import Path

from interval_coverage import DOUBLE, FIXED, LOSS, interval_table
from rich.console import Console
from study_coverage import POOL, study_table

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--repetitions", type=int, default=1_000)
parser.add_argument("--only", choices=["qlearning", "studies", "double", "loss"])
parser.add_argument("--pool", type=int, default=POOL, help="paths simulated, from which studies are drawn")
parser.add_argument("--keep", type=Path, help="a file that keeps the pool, .npy")
asked = parser.parse_args()
console = Console(width=130)
if asked.only in (None, "studies"):
    console.print(study_table(asked.repetitions, paths=asked.pool, file=asked.keep))
for name, way in {"qlearning": FIXED, "double": DOUBLE, "loss": LOSS}.items():
    if asked.only == name or (asked.only is None and way is FIXED):
        console.print(interval_table(asked.repetitions, way))
