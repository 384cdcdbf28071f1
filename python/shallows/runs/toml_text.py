"""Conversion of Python values to TOML: scenarios from dictionaries, and overrides by dotted key."""

import json
import re
from collections.abc import Mapping
from datetime import date
from datetime import time as time_of_day
from pathlib import PurePath

from shallows.bounded import MOST_DIGITS
from shallows.errors import ShallowsError

MOST_LEVELS = 32
"""Deepest nesting of lists and tables in a scenario."""


def toml_value(value: object, levels: int = MOST_LEVELS) -> str:
    """Return a Python value as TOML; numbers and arrays of NumPy, and paths, are accepted too.

    >>> toml_value({"kind": "dctcp", "g": 0.0625, "on": [True, 3]})
    '{kind = "dctcp", g = 0.0625, on = [true, 3]}'

    Raises
    ------
    ShallowsError
        If a scenario cannot have such a value.
    """
    if not levels:
        raise ShallowsError(
            f"a value must be nested at most {MOST_LEVELS} levels deep, and must not contain itself",
            "nest lists and dictionaries as in a scenario file",
        )
    match value:
        case bool():
            return "true" if value else "false"
        case int() if abs(value) >= 10**MOST_DIGITS:
            raise ShallowsError(
                f"a whole number must have at most {MOST_DIGITS} digits", "write a smaller number"
            )
        case int() | float():
            return (int if isinstance(value, int) else float).__repr__(value)  # NumPy's repr names the type
        case str() | PurePath():
            return _quote(str(value))
        case list() | tuple():
            return f"[{', '.join(toml_value(item, levels - 1) for item in value)}]"
        case Mapping():
            items = (f"{_key(key)} = {toml_value(item, levels - 1)}" for key, item in value.items())
            return "{" + ", ".join(items) + "}"
        case date() | time_of_day():
            return str(value)  # dates, which the engine rejects
    if callable(plain := getattr(value, "tolist", None)):
        return toml_value(plain(), levels - 1)
    raise ShallowsError(
        "a value of a scenario must be a string, a number, true, false, a list or a dictionary, "
        f"got {called(value)}",
        "correct the value; to get the default of a key, leave out the key",
    )


def toml_document(document: Mapping[str, object]) -> str:
    """Return a scenario as the text of its file: a line for each value, a header for each table.

    >>> print(toml_document({"workload": [{"kind": "poisson"}], "seed": 1, "tcp": {"congestion": "reno"}}))
    seed = 1
    <BLANKLINE>
    [[workload]]
    kind = "poisson"
    <BLANKLINE>
    [tcp]
    congestion = "reno"
    """
    lines, tables = [], []
    for key, value in document.items():
        name = _key(key)
        if isinstance(value, Mapping):
            tables.append([f"[{name}]", *_lines(value)])
        elif isinstance(value, list | tuple) and value and all(isinstance(item, Mapping) for item in value):
            tables += [[f"[[{name}]]", *_lines(item)] for item in value]
        else:
            lines.append(f"{name} = {toml_value(value)}")
    return "\n\n".join("\n".join(part) for part in (lines, *tables) if part)


def _lines(table: Mapping[str, object]) -> list[str]:
    return [f"{_key(key)} = {toml_value(value)}" for key, value in table.items()]


def override_texts(overrides: Mapping[str, object] | None) -> tuple[tuple[str, str], ...]:
    """Return overrides as pairs of dotted key and TOML value, as `--set` gives them.

    >>> override_texts({"workload.0.load": 0.6})
    (('workload.0.load', '0.6'),)
    """
    if overrides is None:
        return ()
    if not isinstance(overrides, Mapping):
        raise ShallowsError(
            f"overrides must be a dictionary of values by dotted key, got {called(overrides)}",
            'pass a dictionary such as {"workload.0.load": 0.6}',
        )
    return tuple((_text_key(key), toml_value(value)) for key, value in overrides.items())


def _text_key(key: object) -> str:
    if not isinstance(key, str):
        raise ShallowsError(
            f"a key must be a string, got {called(key)}", "write a key such as 'workload.0.load'"
        )
    return key


def _key(key: object) -> str:
    text = _text_key(key)
    plain = text.replace("_", "").replace("-", "")
    return text if plain.isascii() and plain.isalnum() else _quote(text)


def _quote(text: str) -> str:
    """Return a TOML string: a JSON string without DEL characters or lone surrogates."""
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        raise ShallowsError(f"{text!a} must not contain a lone surrogate", "remove the character")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def called(value: object) -> str:
    """Format a value of a wrong type for an error message, with its type.

    >>> called(None), called(b"x"), called({1})
    ('None', "b'x' (bytes)", '{1} (set)')
    """
    text = repr(value)
    return text if value is None else f"{text[:60]}{'…' * (len(text) > 60)} ({type(value).__name__})"
