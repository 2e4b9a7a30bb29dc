"""The size of a small Table 1, and its numbers as a frame."""

from __future__ import annotations

import pandas as pd

from dtrbandit.reproduce import Reproduction

PATHS, HORIZON = 12, 150


def frame(result: Reproduction) -> pd.DataFrame:
    return pd.DataFrame(result.table.records()).set_index("entry")
