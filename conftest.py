"""What every run of pytest begins with; ``tests/skipped.py`` and ``tests/installed.py`` are its plugins."""

import os

for library in ("OMP", "OPENBLAS"):  # two tests run at a time: threads of linear algebra would only wait for each other
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

pytest_plugins = ["installed", "skipped"]
