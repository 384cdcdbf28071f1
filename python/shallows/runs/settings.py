"""The settings of a scenario, in words."""

from typing import Any

from shallows.quantity import digits

ORDER = ["topology", "switch", "host", "tcp", "workload", "measure", "stop", "seed"]
"""Names of the sections of a scenario, in the order in which they are shown."""


def settings(scenario: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the name of each section with its settings in one line, worded as in the scenario file."""
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
