"""One set-up for all tests: Hypothesis draws the same examples on every run."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
