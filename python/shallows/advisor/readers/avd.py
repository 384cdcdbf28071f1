"""Arista's validated designs (AVD): structured configuration in YAML, converted to EOS lines.

The keys are those of `eos_cli_config_gen` in pyavd 6.4. Each key is converted to the EOS line that pyavd's
templates give for it, so only the reader of EOS defines the meaning of settings.
"""

import re
from dataclasses import replace

from shallows.advisor.configuration import Source, Switch
from shallows.advisor.readers import eos
from shallows.advisor.readers.eos_statements import is_queue
from shallows.advisor.syntax import yaml_paths
from shallows.advisor.syntax.statements import Statement
from shallows.advisor.syntax.yaml_paths import Node

FORMAT = "avd"

_TELLING = re.compile(
    r"^(qos_profiles|priority_flow_control|qos):\s*$"
    r"|^\s+(- )?(uc_tx_queues|tx_queues|random_detect|service_profile):|^\s+mmu:\s*$",
    re.MULTILINE,
)
_AT_PORTS = {
    "service_profile",
    "qos",
    "priority_flow_control",
    "uc_tx_queues",
    "tx_queues",
    "speed",
    "mtu",
    "shape",
}
_KINDS = {"uc_tx_queues": "uc-tx-queue", "tx_queues": "tx-queue"}


def recognises(text: str, name: str) -> bool:
    """Return whether a text is YAML with AVD's queue keys."""
    return (
        not re.match(r"\s*[{\[]", text) and not name.endswith(".json") and _TELLING.search(text) is not None
    )


def read(text: str, name: str) -> Switch:
    """Read queues and buffers from a device's structured configuration.

    Raises
    ------
    ShallowsError
        If the text is not YAML, or aliases repeat too much.
    """
    lines = _Lines(name)
    lines.document(yaml_paths.read(text, name))
    switch = eos.of_statements(lines.found, name, FORMAT)
    return replace(switch, unread=(*switch.unread, *lines.unread))


class _Lines:
    def __init__(self, name: str) -> None:
        self.name = name
        self.found: list[Statement] = []
        self.unread: list[Source] = []

    def say(self, node: Node, text: str, *sections: str) -> None:
        self.found.append(Statement(node.line, tuple(text.split()), sections))

    def skip(self, key: str, node: Node) -> None:
        """List each scalar of a node as not understood."""
        for path, leaf in node.leaves((key,)):
            text = f"{'.'.join(path)}: {leaf.scalar() or ''}"
            self.unread.append(Source(self.name, str(leaf.line), text[:200]))

    def document(self, root: Node) -> None:
        for key, node in root.items():
            match key:
                case "hostname":
                    self.say(node, f"hostname {node.scalar()}")
                case "platform":
                    self.memory(node)
                case "qos_profiles":
                    for entry in node.entries():
                        self.section("qos profile", entry)
                case "ethernet_interfaces" | "port_channel_interfaces":
                    for entry in node.entries():
                        self.section("interface", entry)
                case "qos":
                    self.globally(node)
                case "priority_flow_control":
                    self.watchdog(node)
                case "queue_monitor_length" | "queue_monitor_streaming":
                    self.skip(key, node)
                case "policy_maps" | "class_maps":
                    for inner, policies in node.items():
                        if inner == "qos":
                            self.skip(f"{key}.{inner}", policies)

    def section(self, kind: str, entry: Node) -> None:
        name = entry.get("name")
        if name is None or not (called := name.scalar()) or len(called.split()) != 1:
            if kind == "qos profile":
                self.skip("qos_profiles", entry)
            return
        section = f"{kind} {called}"
        self.say(name, section)
        for key, node in entry.items():
            value = node.scalar()
            match key:
                case "name" | "description":
                    pass
                case "trust" if value:
                    self.say(node, "no qos trust" if value == "disabled" else f"qos trust {value}", section)
                case "service_profile" if value:
                    self.say(node, f"service-profile {value}", section)
                case "speed" | "mtu" if value:
                    self.say(node, f"{key} {value}", section)
                case "priority_flow_control":
                    self.pause(node, section)
                case "uc_tx_queues" | "tx_queues":
                    for queue in node.entries():
                        self.queue(_KINDS[key], queue, section)
                case "qos" if kind == "interface":
                    for inner, leaf in node.items():
                        if inner == "trust" and leaf.scalar() != "disabled":
                            self.say(leaf, f"qos trust {leaf.scalar()}", section)
                        else:
                            self.skip(f"qos.{inner}", leaf)
                case _ if kind == "qos profile" or key in _AT_PORTS:
                    self.skip(key, node)

    def pause(self, node: Node, section: str) -> None:
        for key, inner in node.items():
            if key == "enabled":
                if inner.scalar() == "true":
                    self.say(inner, "priority-flow-control on", section)
            elif key == "priorities":
                for entry in inner.entries():
                    priority, drops = entry.get("priority"), entry.get("no_drop")
                    if priority and drops and drops.scalar() == "true":
                        self.say(
                            entry, f"priority-flow-control priority {priority.scalar()} no-drop", section
                        )
                    else:
                        self.skip("priorities", entry)
            else:
                self.skip(f"priority_flow_control.{key}", inner)

    def queue(self, kind: str, entry: Node, section: str) -> None:
        number = entry.get("id")
        inner = f"{kind} {number.scalar() if number else ''}"
        if not is_queue(inner):
            self.skip(kind, entry)
            return
        self.say(entry, inner, section)
        for key, node in entry.items():
            value = node.scalar()
            match key:
                case "id" | "comment":
                    pass
                case "priority" if value in ("priority strict", "no priority"):
                    self.say(node, value, section, inner)
                case "bandwidth_percent":
                    self.say(node, f"bandwidth percent {value}", section, inner)
                case "bandwidth_guaranteed_percent":
                    self.say(node, f"bandwidth guaranteed percent {value}", section, inner)
                case "shape":
                    for path, leaf in node.leaves():
                        self.say(leaf, f"shape {' '.join(path)} {leaf.scalar()}", section, inner)
                case "random_detect":
                    self.random_detect(node, section, inner)
                case _:
                    self.skip(key, node)

    def random_detect(self, node: Node, section: str, inner: str) -> None:
        for kind, part in node.items():
            for key, leaf in part.items():
                if kind in ("ecn", "drop") and key == "threshold":
                    self.curve(kind, leaf, section, inner)
                elif (kind, key, leaf.scalar()) == ("ecn", "count", "true"):
                    self.say(leaf, "random-detect ecn count", section, inner)
                elif (kind, key) != ("ecn", "count"):
                    self.skip(f"random_detect.{kind}.{key}", leaf)

    def curve(self, kind: str, node: Node, section: str, inner: str) -> None:
        said = {key: leaf.scalar() for key, leaf in node.items()}
        units = said.pop("units", "")
        precedence = said.pop("drop_precedence", None)
        text = f"random-detect {kind}" + (f" drop-precedence {precedence}" if precedence is not None else "")
        for word, end in (("minimum", "min"), ("maximum", "max")):
            text += f" {word}-threshold {said.pop(end, '')} {units}"
        words = {
            "max_probability": "max-mark-probability",
            "drop_probability": "drop-probability",
            "weight": "weight",
        }
        for key, word in words.items():
            if key in said:
                text += f" {word} {said.pop(key)}"
        self.say(node, " ".join([text, *said]), section, inner)

    def globally(self, node: Node) -> None:
        for path, leaf in node.leaves():
            value = leaf.scalar()
            match path:
                case ("map", ("dscp" | "traffic_class") as what, _):
                    self.say(leaf, f"qos map {what.replace('_', '-')} {value}")
                case ("rewrite_dscp",):
                    if value == "true":
                        self.say(leaf, "qos rewrite dscp")
                case ("random_detect", "ecn", "allow_non_ect", "enabled"):
                    chip = node.get("random_detect", "ecn", "allow_non_ect", "chip_based")
                    based = " chip-based" if chip is not None and chip.scalar() == "true" else ""
                    if value == "true":
                        self.say(leaf, f"qos random-detect ecn allow non-ect{based}")
                case ("random_detect", "ecn", "allow_non_ect", "chip_based") | (
                    "random_detect",
                    "ecn",
                    "global_buffer",
                    "units" | "max",
                ):
                    pass
                case ("random_detect", "ecn", "global_buffer", "min"):
                    said = {
                        key: (found.scalar() if (found := node.get(*path[:3], key)) else "")
                        for key in ("units", "max")
                    }
                    self.say(
                        leaf,
                        f"qos random-detect ecn global-buffer minimum-threshold {value} {said['units']}"
                        f" maximum-threshold {said['max']} {said['units']}",
                    )
                case _:
                    self.skip(".".join(("qos", *path)), leaf)

    def watchdog(self, node: Node) -> None:
        start = "priority-flow-control pause watchdog"
        for path, leaf in node.leaves():
            match path:
                case ("watchdog", "action"):
                    self.say(leaf, f"{start} action {leaf.scalar()}")
                case ("watchdog", ("timeout" | "polling_interval" | "recovery_time") as what):
                    self.say(leaf, f"{start} default {what.replace('_', '-')} {leaf.scalar()}")
                case _:
                    self.skip(".".join(("priority_flow_control", *path)), leaf)

    def memory(self, platform: Node) -> None:
        mmu = platform.get("trident", "mmu")
        if mmu is None:
            return
        start = "platform trident mmu"
        for key, node in mmu.items():
            if key == "active_profile":
                self.say(node, f"{start} queue profile {node.scalar()} apply")
            elif key == "headroom_pool":
                unit, limit = node.get("unit"), node.get("limit")
                self.say(
                    node,
                    f"{start} headroom-pool limit {(unit and unit.scalar()) or 'bytes'} "
                    f"{limit.scalar() if limit else ''}",
                )
            elif key == "queue_profiles":
                for entry in node.entries():
                    name = entry.get("name")
                    section = f"{start} queue profile {(name and name.scalar()) or ''}".strip()
                    self.say(entry, section)
                    self.of_memory(entry, section)
            else:
                self.skip(key, node)

    def of_memory(self, entry: Node, section: str) -> None:
        for key, node in entry.items():
            match key:
                case "name":
                    pass
                case "ingress":
                    self.allotted(node, "ingress", section)
                    for group in (node.get("priority_groups") or Node(0, [])).entries():
                        number = group.get("id")
                        start = f"ingress priority-group {number.scalar() if number else ''}"
                        self.allotted(group, start, section)
                case "unicast_queues":
                    for queue in node.entries():
                        number = queue.get("id")
                        self.allotted(
                            queue, f"egress unicast queue {number.scalar() if number else ''}", section
                        )
                case _:
                    self.skip(key, node)

    def allotted(self, entry: Node, start: str, section: str) -> None:
        for key, node in entry.items():
            unit, memory = node.get("unit") or entry.get("unit"), node.get("memory") or node
            match key:
                case "id" | "unit" | "priority_groups":
                    pass
                case "threshold" | "resume":
                    self.say(node, f"{start} {key} {node.scalar()}", section)
                case "reserved" | "headroom":
                    self.say(
                        node,
                        f"{start} {key} {(unit and unit.scalar()) or 'bytes'} {memory.scalar()}",
                        section,
                    )
                case "drop":
                    said = {inner: leaf.scalar() for inner, leaf in node.items()}
                    self.say(
                        node,
                        f"{start} drop-precedence {said.get('precedence')} "
                        f"drop-threshold {said.get('threshold')}",
                        section,
                    )
                case _:
                    self.skip(key, node)
