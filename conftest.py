"""Doctests of a module that needs an extra are left out where that is missing."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("gymnasium") else ["src/dtrbandit/environments/gymnasium.py"]
