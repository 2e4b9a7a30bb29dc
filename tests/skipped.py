"""What a run leaves out for want of something: said in one line, and run beside it where everything is installed.

The root's ``conftest.py`` registers it as a plugin.
"""

from __future__ import annotations

import re

import pytest

from effort import PROFILE

KEPT = "dtrbandit/passed"  # where the cache of pytest keeps what the last run has tested
ENLARGED = ("hypothesis", "enlarged", "full")  # marks of tests that try more with HYPOTHESIS_PROFILE=full
MISSING = re.compile(r"could not import '([^']+)'|there is no \S*?(chromium)")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a second run, in an environment that has more, do what the first could not."""
    parser.addoption(
        "--beside",
        action="store_true",
        help="what the last run did not pass, and what HYPOTHESIS_PROFILE enlarges",
    )


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Find out before anything is collected whether there was a run before."""
    if config.getoption("--beside"):
        passed_before(config)


def passed_before(config: pytest.Config) -> set[str]:
    """Return what the last run has tested."""
    cache = getattr(config, "cache", None)  # it can be switched off
    passed = cache.get(KEPT, None) if cache else None
    if passed is None:
        raise pytest.UsageError("--beside needs a run before it, without --beside, in the same folder")
    return set(passed)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what needs more effort than is wanted, or what the last run has tested as well as this one could."""
    if PROFILE != "full":
        deselect(config, items, [item for item in items if item.get_closest_marker("full")])
    if config.getoption("--beside"):
        passed = passed_before(config)
        deselect(config, items, [item for item in items if item.nodeid in passed and not is_enlarged(item)])


def deselect(config: pytest.Config, items: list[pytest.Item], some: list[pytest.Item]) -> None:
    """Leave some items out, and count them."""
    config.hook.pytest_deselected(items=some)
    left = set(some)
    items[:] = [item for item in items if item not in left]


def is_enlarged(item: pytest.Item) -> bool:
    """Say whether a test tries more with HYPOTHESIS_PROFILE=full."""
    return any(map(item.get_closest_marker, ENLARGED))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was skipped for want of something, with how to have it, and remember it for ``--beside``."""
    cache = getattr(config, "cache", None)
    if cache and not config.getoption("--beside"):
        cache.set(KEPT, sorted(report.nodeid for report in terminalreporter.stats.get("passed", [])))
    reasons = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    missing = {(match[1] or match[2]).partition(".")[0] for text in reasons if (match := MISSING.search(text))}
    if missing:
        terminalreporter.write_line(
            f"Skipped, since it is not installed: what needs {', '.join(sorted(missing))}. "
            "`make test-all` installs it and runs everything, with more examples."
        )
