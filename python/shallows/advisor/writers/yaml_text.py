"""YAML output in the given key order, with quotes around texts that look like other types."""

from typing import Any


def dump(document: Any) -> str:
    r"""Format a document, with strings of digits in quotes so that they stay strings.

    >>> dump({"watchdog": {"timeout": "0.2"}, "queues": [{"id": 3}]})
    "watchdog:\n  timeout: '0.2'\nqueues:\n- id: 3\n"
    """
    import yaml

    text: str = yaml.safe_dump(
        document, sort_keys=False, allow_unicode=True, default_flow_style=False, width=120
    )
    return text
