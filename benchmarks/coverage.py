"""`make coverage`: how often Q-learning's intervals hold the truth (`interval_coverage.py`)."""

if __name__ != "__main__":  # numba looks for a package of this name, and must not find this file
    raise ImportError("this is a script")

from interval_coverage import main

main()
