"""What a run leaves out for want of something: said in one line, and run beside it where everything is installed.

Registered as a plugin by ``tests/conftest.py``.
"""

from __future__ import annotations

import re

import pytest

from effort import PROFILE

KEPT = "dtrbandit/skipped"  # where the cache of pytest keeps what the last run left out
ENLARGED = ("hypothesis", "enlarged", "full")  # marks of tests that try more with HYPOTHESIS_PROFILE=full
MISSING = re.compile(r"could not import '([^']+)'|there is no \S*?(chromium)")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a second run, in an environment that has more, do what the first could not."""
    parser.addoption(
        "--beside", action="store_true", help="only what the last run skipped, and what HYPOTHESIS_PROFILE enlarges"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what needs more effort than is wanted, or what the last run has tested as well as this one could."""
    if PROFILE != "full":
        deselect(config, items, [item for item in items if item.get_closest_marker("full")])
    if config.getoption("--beside"):
        deselect(config, items, [item for item in items if not is_beside(config, item)])


def deselect(config: pytest.Config, items: list[pytest.Item], some: list[pytest.Item]) -> None:
    """Leave some items out, and count them."""
    config.hook.pytest_deselected(items=some)
    left = set(some)
    items[:] = [item for item in items if item not in left]


def is_beside(config: pytest.Config, item: pytest.Item) -> bool:
    """Say whether the last run left an item out, or could have tried more of it."""
    skipped = cache.get(KEPT, None) if (cache := getattr(config, "cache", None)) else None
    if skipped is None:
        raise pytest.UsageError("--beside needs a run before it, without --beside, in the same folder")
    again = ("src/", *skipped)  # doctests of modules that need more are not even collected without it
    return item.nodeid.startswith(again) or any(map(item.get_closest_marker, ENLARGED))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was skipped for want of something, with how to have it, and remember it for ``--beside``."""
    skipped = terminalreporter.stats.get("skipped", [])
    cache = getattr(config, "cache", None)  # it can be switched off
    if cache and not config.getoption("--beside"):
        cache.set(KEPT, sorted({report.nodeid for report in skipped}))
    found = [match for report in skipped if (match := MISSING.search(str(report.longrepr)))]
    if found:
        wanted = sorted({(match[1] or match[2]).partition(".")[0] for match in found})
        terminalreporter.write_line(
            f"{len(found)} files or tests need what is not installed ({', '.join(wanted)}): "
            "`make test-all` installs it and runs everything, with more examples."
        )
