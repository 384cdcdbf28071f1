"""A scenario in words: what it asks, its settings, and how to get its results again."""

import shlex
from collections.abc import Sequence
from typing import Any

from shallows.quantity import digits
from shallows.runs.results import Run

ORDER = ["topology", "switch", "host", "tcp", "workload", "measure", "stop", "seed"]
"""Sections as a packet meets them."""


def question(scenario: str) -> str:
    r"""What a scenario file says about itself: the comment at its head.

    >>> question('# Does it fill\n# the buffer?\n\nname = "x" # no\n')
    'Does it fill the buffer?'
    """
    lines = []
    for line in scenario.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("#").strip())
    return " ".join(filter(None, lines))


def settings(scenario: dict[str, Any]) -> list[tuple[str, str]]:
    """The settings of each section in one line, as the scenario file would say them."""
    found = []
    for section in sorted(scenario.keys() - {"name"}, key=_place):
        content = scenario[section]
        parts = content if isinstance(content, list) else [content]
        for number, part in enumerate(parts):
            name = f"{section} {number}" if len(parts) > 1 else section
            found.append((name, _in_words(part)))
    return [(name, words) for name, words in found if words]


def _place(section: str) -> tuple[int, str]:
    return (ORDER.index(section) if section in ORDER else len(ORDER), section)


def _in_words(value: object) -> str:
    match value:
        case dict():
            inner = [
                f"{key} {_nested(item)}" for key, item in value.items() if item is not None and key != "kind"
            ]
            return ", ".join(([str(value["kind"])] if "kind" in value else []) + inner)
        case list():
            return ", ".join(map(_nested, value)) or "none"
        case bool():
            return "yes" if value else "no"
        case float():
            return digits(value, 6)
        case _:
            return str(value)


def _nested(value: object) -> str:
    return f"({_in_words(value)})" if isinstance(value, dict) else _in_words(value)


def command(run: Run, *, of_sweep: bool = False) -> str:
    """What to type to get a run again, or the sweep that it is part of."""
    environment = run.environment
    if of_sweep:
        return shlex.join(["shallows", "sweep", environment["file"]])
    parts = ["shallows", "run", environment["file"]]
    for override in environment["overrides"]:
        parts += ["--set", override]
    return shlex.join([*parts, "--seed", str(environment["seed"])])


def made_by(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """What made the results: the builds, the machines, and of one run its hash."""
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
