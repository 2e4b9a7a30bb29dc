"""Look for known holes in what is installed, and for secrets in the repository: `make audit`.

Exit code 1 if there is one. What could not be looked up is counted and said, since silence would read as "none found".
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

TOOLS = Path(sys.executable).parent
INVENTED = "(?i)^(se|secret|s3cret)$"  # passwords in examples and tests


def holes(environment: Path) -> int:
    """Print the known holes of what an environment holds; return how many there are."""
    (packages,) = environment.glob("lib/python3.*/site-packages")
    command = [TOOLS / "pip-audit", "--path", packages, "--skip-editable", "--format", "json", "--progress-spinner=off"]
    asked = subprocess.run(command, capture_output=True, text=True)
    if not asked.stdout:
        print(f"Advisories could not be reached; nothing was looked up.\n{asked.stderr[-500:]}")
        return 0
    found = json.loads(asked.stdout)["dependencies"]
    skipped = [each["name"] for each in found if "skip_reason" in each]
    wrong = [(each, hole["id"]) for each in found for hole in each.get("vulns", [])]
    for each, hole in wrong:
        print(f"{each['name']} {each['version']}: {hole}")
    print(f"{len(found) - len(skipped)} packages looked up, {len(wrong)} known holes; {len(skipped)} not known there.")
    return len(wrong)


def secrets() -> int:
    """Print what looks like a secret in a file of the repository; return whether there is something."""
    files = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True).stdout.split("\0")
    command = [TOOLS / "detect-secrets-hook", "--exclude-secrets", INVENTED, *filter(None, files)]
    found = subprocess.run(command).returncode
    print("Files of the repository hold what looks like a secret." if found else "No secrets in the repository.")
    return found


if __name__ == "__main__":
    sys.exit(bool(holes(Path(sys.argv[1])) + secrets()))
