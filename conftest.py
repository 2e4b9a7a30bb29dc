"""Doctests of a module that needs an extra are left out where that is missing."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("gymnasium") else ["src/dtrbandit/environments/gymnasium.py"]
if not (find_spec("fastapi") and find_spec("jinja2") and find_spec("uvicorn")):
    needing = ("app", "front", "*_routes", "models", "requests", "server")
    collect_ignore_glob = [f"src/dtrbandit/service/{name}.py" for name in needing] + ["src/dtrbandit/web/*.py"]
