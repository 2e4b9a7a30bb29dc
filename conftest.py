"""Doctests of a module that needs an extra are left out where that is missing; ``tests/skipped.py`` tells of tests."""

import os
from importlib.util import find_spec

for library in ("OMP", "OPENBLAS"):  # two tests run at a time: threads of linear algebra would only wait for each other
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

pytest_plugins = ["skipped"]

collect_ignore = [] if find_spec("gymnasium") else ["src/dtrbandit/environments/gymnasium.py"]
collect_ignore_glob: list[str] = [] if find_spec("psycopg") else ["src/dtrbandit/storage/postgres*.py"]
if not all(find_spec(name) for name in ("fastapi", "httptools", "jinja2", "uvicorn")):
    collect_ignore_glob += [
        f"{folder}/*.py" for folder in ("src/dtrbandit/service", "src/dtrbandit/web", "tests/serving")
    ]
