"""The package's front door: every public name is there, and nothing heavy is loaded before it is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.policies.registry import BUILTIN

ROOT = Path(__file__).parents[1]
HEAVY = ("numpy", "pandas", "pyarrow", "matplotlib", "joblib", "rich")


@pytest.mark.parametrize("name", dtr.__all__)
def test_every_public_name_resolves_and_is_listed(name: str) -> None:
    assert getattr(dtr, name) is getattr(dtr, name)
    assert name in dir(dtr)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'dtrbandit' has no attribute 'Bandit'"):
        dtr.Bandit  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("import dtrbandit", ()),
        ("import dtrbandit; dtrbandit.DesignError", ()),
        ("import dtrbandit; dtrbandit.simulate", ("numpy", "rich")),
    ],
)
def test_heavy_libraries_are_imported_when_needed_only(code: str, allowed: tuple[str, ...]) -> None:
    loaded = f"{code}\nimport sys\nprint(*(name for name in {HEAVY} if name in sys.modules))"

    found = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()

    assert set(found) <= set(allowed)


def test_the_command_says_which_release_it_is() -> None:
    said = subprocess.run([sys.executable, "-m", "dtrbandit", "--version"], capture_output=True, text=True, check=True)

    assert said.stdout == f"dtrbandit {dtr.__version__}, numerics {dtr.NUMERICS}\n"


def test_what_is_cited_is_this_release() -> None:
    assert f"\nversion: {dtr.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_public_names_are_these_and_the_built_in_policies() -> None:
    assert sorted(dtr.__all__) == sorted(
        [
            *BUILTIN, "DTRError", "Decision", "Design", "DesignError", "LogError", "NUMERICS", "ObservationError",
            "ProtocolError", "Session", "Stage", "Study", "StudyError", "StudyInterrupted", "__version__", "load_study",
            "read_log", "simulate", "suggested_beta", "verify", "write_log", "Cohort", "NotEstimable",
            "PropensityModel", "QLearning", "Replay", "replay", "Conflict", "Enroll", "Respond", "Complete", "Withdraw",
            "Override", "Correct", "Reply", "Bootstrap", "OutcomeModel", "Values", "compare", "evaluate", "Hold",
            "Release", "Void", "CloseArm", "Closing", "End", "NotFound", "Trial", "Unavailable", "Upgrade",
            "NotAllowed", "OtherLog", "Unblind", "Looks", "monitor",
        ]
    )  # fmt: skip


def test_no_built_in_policy_goes_missing() -> None:
    """Logs name them."""
    assert {"DTRBandit", "EpsilonGreedy", "FixedRegime", "Greedy", "LSVIUCB", "UniformRandom"} <= set(BUILTIN)


def test_the_changelog_names_the_release_and_its_numerics() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()

    assert f"## {dtr.__version__}" in changelog
    assert f"NUMERICS is {dtr.NUMERICS}" in changelog
