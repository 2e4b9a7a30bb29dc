"""``python -m dtrbandit``: the command line."""

from dtrbandit.cli import app

if __name__ == "__main__":
    app()
