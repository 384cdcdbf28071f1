"""Set-up of a report: the question in a scenario's comment, and the commands and origin of results."""

import shlex
from collections.abc import Sequence
from typing import Any

from shallows.runs.results import Run


def question(scenario: str) -> str:
    r"""Return the comment at the head of a scenario file.

    >>> question('# Does it fill\n# the buffer?\n\nname = "x" # no\n')
    'Does it fill the buffer?'
    """
    lines = []
    for line in scenario.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("#").strip())
    return " ".join(filter(None, lines))


def command(run: Run, *, of_sweep: bool = False) -> str:
    """Return the command that repeats a run; with `of_sweep`, the command that repeats its sweep."""
    environment = run.environment
    if of_sweep:
        return shlex.join(["shallows", "sweep", environment["file"]])
    parts = ["shallows", *(["testbed"] if environment.get("testbed") else []), "run", environment["file"]]
    if (dilation := environment.get("dilation", 1)) > 1:
        parts += ["--dilate", str(dilation)]
    for override in environment["overrides"]:
        parts += ["--set", override]
    return shlex.join([*parts, "--seed", str(environment["seed"])])


def made_by(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Return the origin of results: builds and platforms, and the content hash of a single run."""
    facts = []
    if len(runs) == 1:
        facts.append(("content hash", str(runs[0].environment["hash"])))
    said = [
        {
            "engine": _build(run.environment),
            "Python": str(run.environment.get("python", "")),
            "platform": str(run.environment.get("platform", "")),
        }
        for run in runs
    ]
    for name in said[0]:
        if found := list(dict.fromkeys(filter(None, (each[name] for each in said)))):
            facts.append((name, "; ".join(found)))
    return facts


def _build(environment: dict[str, Any]) -> str:
    commit = str(environment.get("commit") or "")[:12]
    parts = [f"shallows {environment.get('version', '')}", f"commit {commit}" if commit else ""]
    parts.append("with local changes" if environment.get("dirty") else "")
    parts.append(f"sources {str(environment.get('source_hash', ''))[:12]}")
    profile = environment.get("profile", "release")
    return ", ".join(filter(None, [*parts, "" if profile == "release" else f"{profile} build"]))
