"""What somebody at the bedside does, and what a page says at its top."""

from __future__ import annotations

import re

from serving.surfer import Shown, Surfer


def enrol(surfer: Surfer, trial: str, unit: str, **typed: str) -> Shown:
    form = surfer.get(f"/ui/trials/{trial}/bedside").form("/enrol")
    return surfer.post(form, unit=unit, **{"column.x": "0.5", **typed})


def banner(shown: Shown) -> str:
    (word,) = re.findall(r'id="banner"[^>]*><strong>(\w+)</strong>', shown.text)
    return str(word)
