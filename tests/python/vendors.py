"""Sample configurations of switches, and functions that apply a change to them."""

import json
from dataclasses import replace
from typing import Any

import yaml

from pages import ROOT
from shallows.advisor.configuration import Switch
from shallows.advisor.readers import reader

SWITCHES = ROOT / "tests" / "python" / "switches"

SAMPLES = {
    "sonic": "sonic.json",
    "eos": "eos.cfg",
    "avd": "avd.yml",
    "nvue": "nvue.sh",
    "nxos": "nxos.cfg",
    "junos": "junos.conf",
    "tc": "linux.txt",
}
"""Name of a sample file for each format."""


def sample(format_: str) -> str:
    """Return the text of a format's sample configuration."""
    return (SWITCHES / SAMPLES[format_]).read_text()


def read(format_: str, text: str) -> Switch:
    """Return a switch without its name, platform and chip, which no writer writes."""
    switch = reader(format_).read(text, f"{format_} text")
    return replace(switch, name=None, platform=None, chip=None)


def applied(format_: str, there: str, change: str) -> str:
    """Return a configuration after a change: commands are appended, patches and entries are applied."""
    match format_:
        case "sonic":
            return json.dumps(_patched(json.loads(there), json.loads(change or "[]")))
        case "avd":
            return str(yaml.safe_dump(_replaced(yaml.safe_load(there), change)))
    return f"{there}\n{change}"


def _patched(document: dict[str, Any], operations: list[dict[str, Any]]) -> dict[str, Any]:
    """Apply a JSON patch (RFC 6902) to objects; values to replace or remove must exist."""
    for each in operations:
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in each["path"].split("/")[1:]]
        place: Any = document
        for parent in parents:
            place = place[parent]
        if each["op"] == "add":
            place[last] = each["value"]
        else:
            assert last in place, each
            place.pop(last)
            if each["op"] == "replace":
                place[last] = each["value"]
        profiles = document.get("WRED_PROFILE", {}).values()
        for profile in profiles:
            for colour in ("green", "yellow", "red"):
                low, high = (profile.get(f"{colour}_{end}_threshold") for end in ("min", "max"))
                assert low is None or high is None or int(low) <= int(high), (each, profile)
    return document


def _replaced(document: dict[str, Any], change: str) -> dict[str, Any]:
    """Replace the entries that the change has by name, and remove those that its comments name."""
    for key, value in (yaml.safe_load(change) or {}).items() if change else ():
        if isinstance(value, list):
            names = {entry["name"] for entry in value}
            document[key] = [entry for entry in document.get(key, []) if entry["name"] not in names] + value
        else:
            document[key] = value
    for line in change.splitlines():
        if line.startswith("# remove "):
            key, *name = line.removeprefix("# remove ").split()
            if name:
                document[key] = [entry for entry in document[key] if entry["name"] != name[0]]
            else:
                document.pop(key)
    return document
