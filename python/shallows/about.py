"""Version, commit and build profile of this installation."""

import json
from functools import cache
from typing import Any


@cache
def build() -> dict[str, Any]:
    """Return version, commit, whether the sources differ from that commit, their hash, and build profile."""
    from shallows import _core

    about: dict[str, Any] = json.loads(_core.version())
    return about


def label() -> str:
    """Return one line that identifies the build in reports."""
    about = build()
    commit = f", commit {about['commit'][:12]}" if about["commit"] else ""
    changed = " with local changes" if about["dirty"] else ""
    profile = "" if about["profile"] == "release" else f", {about['profile']} build"
    return f"shallows {about['version']}{commit}{changed}{profile}"
