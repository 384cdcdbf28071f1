"""Arista's validated designs (AVD): the changed keys of structured configuration, in YAML.

AVD's inputs describe a whole device, so a change consists of complete entries that replace entries of the
same name. Comments list removed entries.
"""

import re
from collections.abc import Sequence
from typing import Any

from shallows.advisor.configuration import Switch
from shallows.advisor.writers import eos, yaml_text
from shallows.advisor.writers.lines import NO_REASONS, Line, Reasons, Text

_CURVE = re.compile(
    r"random-detect (ecn|drop)(?: drop-precedence (\d))?"
    r" minimum-threshold (\d+) (\w+) maximum-threshold (\d+) (\w+)"
    r"(?: (?:max-mark|drop)-probability (\d+))?(?: weight (\d+))?"
)
_UNITS = {"kbytes": 1000, "bytes": 1, "segments": 1, "microseconds": 1, "milliseconds": 1000}

Key = tuple[str, ...]
"""Key of an entry: a top-level key, and the name in its list if it has one."""


def write(before: Switch | None, after: Switch, reasons: Reasons = NO_REASONS) -> Text:
    """Write the AVD entries in which two configurations differ."""
    told = eos.tell(after)
    new, old = _entries(told.lines), _entries(eos.tell(before).lines) if before else {}
    return Text(
        _difference(old, new, _reasons(told.lines, reasons)),
        _difference(new, old, {}),
        tuple(told.inexpressible),
    )


def _reasons(lines: Sequence[Line], reasons: Reasons) -> dict[Key, list[str]]:
    found: dict[Key, list[str]] = {}
    for line in lines:
        reason = reasons.get(line.about)
        if reason and reason not in found.setdefault(_key(line), []):
            found[_key(line)].append(reason)
    return found


def _difference(old: dict[Key, Any], new: dict[Key, Any], reasons: dict[Key, list[str]]) -> str:
    rows = [f"# remove {' '.join(key)}" for key in old if key not in new]
    document: dict[str, Any] = {}
    for key, entry in new.items():
        if old.get(key) != entry:
            rows += [f"# {' '.join(key)}: {' '.join(reason.split())}" for reason in reasons.get(key, [])]
            if len(key) == 1:
                document[key[0]] = entry
            else:
                document.setdefault(key[0], []).append(entry)
    return "".join(f"{row}\n" for row in rows) + (yaml_text.dump(document) if document else "")


def _key(line: Line) -> Key:
    """Return the key of the AVD entry that an EOS line belongs to."""
    section = line.sections[0] if line.sections else line.text
    kind, _, name = section.rpartition(" ")
    if line.sections and kind == "qos profile":
        return "qos_profiles", name
    if line.sections and kind == "interface":
        return "port_channel_interfaces" if name.startswith("Port-Channel") else "ethernet_interfaces", name
    return (section.split()[0].replace("-", "_"),)


def _entries(lines: Sequence[Line]) -> dict[Key, Any]:
    found: dict[Key, Any] = {}
    for line in lines:
        key = _key(line)
        entry = found.setdefault(key, {"name": key[1]} if len(key) == 2 else {})
        if key[0] == "platform":
            _memory(entry, line)
        elif len(key) == 2:
            _section(entry, line)
        else:
            _globally(entry, line)
    return found


def _named(entries: list[dict[str, Any]], key: str, name: object) -> dict[str, Any]:
    """Return the entry of a list with this name; create it if necessary."""
    for entry in entries:
        if entry[key] == name:
            return entry
    entries.append({key: name})
    return entries[-1]


def _section(entry: dict[str, Any], line: Line) -> None:
    if len(line.sections) == 2:
        kind, _, number = line.sections[1].rpartition(" ")
        queues = entry.setdefault(kind.replace("-", "_") + "s", [])
        _queue(_named(queues, "id", int(number)), line.text)
        return
    match line.text.split():
        case ["qos", "trust", what]:
            if line.sections[0].startswith("interface"):
                entry.setdefault("qos", {})["trust"] = what
            else:
                entry["trust"] = what
        case ["priority-flow-control", "on"]:
            entry.setdefault("priority_flow_control", {})["enabled"] = True
        case ["priority-flow-control", "priority", number, "no-drop"]:
            pause = entry.setdefault("priority_flow_control", {})
            pause.setdefault("priorities", []).append({"priority": int(number), "no_drop": True})
        case ["mtu", number]:
            entry["mtu"] = int(number)
        case [what, value]:
            entry[what.replace("-", "_")] = value


def _queue(queue: dict[str, Any], text: str) -> None:
    match text.split():
        case ["priority", "strict"] | ["no", "priority"]:
            queue["priority"] = text
        case ["bandwidth", "percent", number]:
            queue["bandwidth_percent"] = int(number)
        case ["bandwidth", "guaranteed", "percent", number]:
            queue["bandwidth_guaranteed_percent"] = int(number)
        case ["shape", "rate", *rate]:
            queue["shape"] = {"rate": " ".join(rate)}
        case ["random-detect", "ecn", "count"]:
            queue.setdefault("random_detect", {}).setdefault("ecn", {})["count"] = True
        case _ if curve := _CURVE.fullmatch(text):
            kind = curve[1]
            threshold = _ends(curve[3], curve[4], curve[5], curve[6])
            if curve[2] is not None:
                threshold["drop_precedence"] = int(curve[2])
            if curve[7] is not None:
                threshold["max_probability" if kind == "ecn" else "drop_probability"] = int(curve[7])
            if curve[8] is not None:
                threshold["weight"] = int(curve[8])
            queue.setdefault("random_detect", {}).setdefault(kind, {})["threshold"] = threshold


def _ends(low: str, unit: str, high: str, other: str) -> dict[str, Any]:
    """Return both ends of a curve in one unit, as AVD requires."""
    if unit == other:
        return {"units": unit, "min": int(low), "max": int(high)}
    return {"units": "bytes", "min": int(low) * _UNITS[unit], "max": int(high) * _UNITS[other]}


def _globally(entry: dict[str, Any], line: Line) -> None:
    words = line.text.split()
    match words:
        case ["qos", "map", what, *rest]:
            entry.setdefault("map", {}).setdefault(what.replace("-", "_"), []).append(" ".join(rest))
        case ["qos", "rewrite", "dscp"]:
            entry["rewrite_dscp"] = True
        case ["qos", "random-detect", "ecn", "allow", "non-ect", *based]:
            allowed = {"enabled": True} | ({"chip_based": True} if based else {})
            entry.setdefault("random_detect", {}).setdefault("ecn", {})["allow_non_ect"] = allowed
        case ["qos", "random-detect", "ecn", "global-buffer", _, low, unit, _, high, other]:
            ends = _ends(low, unit, high, other)
            entry.setdefault("random_detect", {}).setdefault("ecn", {})["global_buffer"] = ends
        case ["priority-flow-control", "pause", "watchdog", *what]:
            entry.setdefault("watchdog", {})[what[-2].replace("-", "_")] = what[-1]


def _memory(entry: dict[str, Any], line: Line) -> None:
    mmu = entry.setdefault("trident", {}).setdefault("mmu", {})
    words = line.text.split()
    if not line.sections:
        if words[-1] == "apply":
            mmu["active_profile"] = words[-2]
        else:
            mmu["headroom_pool"] = {"unit": words[-2], "limit": int(words[-1])}
        return
    profile = _named(mmu.setdefault("queue_profiles", []), "name", line.sections[0].split()[-1])
    match words:
        case ["egress", "unicast", "queue", number, *what]:
            queue = _named(profile.setdefault("unicast_queues", []), "id", int(number))
            match what:
                case ["reserved", unit, amount]:
                    queue |= {"unit": unit, "reserved": int(amount)}
                case ["threshold", factor]:
                    queue["threshold"] = factor
                case ["drop-precedence", level, "drop-threshold", factor]:
                    queue["drop"] = {"precedence": int(level), "threshold": factor}
        case ["ingress", "priority-group", number, *what]:
            groups = profile.setdefault("ingress", {}).setdefault("priority_groups", [])
            _ingress(_named(groups, "id", int(number)), what)
        case ["ingress", *what]:
            _ingress(profile.setdefault("ingress", {}), what)


def _ingress(entry: dict[str, Any], what: Sequence[str]) -> None:
    match what:
        case ["threshold", factor]:
            entry["threshold"] = factor
        case ["resume", amount]:
            entry["resume"] = int(amount)
        case [key, unit, amount]:
            entry[key] = {"unit": unit, "memory": int(amount)}
