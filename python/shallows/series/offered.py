"""Subjects of metrics (workloads, size bins, ports and recordings) that a scenario defines before a run."""

import json
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from shallows import _core
from shallows.quantity import order, parse_size
from shallows.runs.network import Network, network
from shallows.runs.pools import pools_of

SENDS_NO_FLOWS = {"udp", "ping"}
"""Kinds of workloads without flows."""

ASKS = {"partition-aggregate", "block-transfer"}
"""Kinds of workloads with queries; an `incast` with `think_time` also has queries."""


class Offered:
    """Subjects that metrics of a scenario's runs can have, such as its workloads and ports.

    Parameters
    ----------
    scenario
        Resolved scenario, as in `resolved.json`.
    curves
        Effective marking curves of the scenario, as in `summary.json`.

    Examples
    --------
    >>> import shallows as sh
    >>> from shallows.runs.source import Source
    >>> offered = Offered.of(Source.read(sh.example("incast")).parse())
    >>> offered.workloads, offered.bins, offered.end_us
    (['incast', 'long-lived'], ['all', 'small', 'medium', 'large'], 210000.0)
    """

    def __init__(self, scenario: Mapping[str, Any], curves: Sequence[Any] = ()) -> None:
        self.scenario, self.curves = scenario, curves

    @classmethod
    def of(cls, experiment: _core.Experiment) -> "Offered":
        """Return the subjects of a parsed scenario."""
        return cls(json.loads(experiment.resolved()), json.loads(experiment.marking_curves()))

    @cached_property
    def workloads(self) -> list[str]:
        """Kind of each workload, in the scenario's order."""
        return [each["kind"] for each in self.scenario["workload"]]

    def sends_flows(self, place: int) -> bool:
        """Return whether workload number `place` exists and sends flows."""
        return place < len(self.workloads) and self.workloads[place] not in SENDS_NO_FLOWS

    @cached_property
    def asking(self) -> list[int]:
        """Indices of the workloads that send queries, in the order of the scenario."""
        return [
            place
            for place, each in enumerate(self.scenario["workload"])
            if each["kind"] in ASKS or (each["kind"] == "incast" and each.get("think_time") is not None)
        ]

    @cached_property
    def classes(self) -> set[int] | None:
        """Classes of service of flows; None if a rule or a flow list decides them during the run."""
        sending = [each for each in self.scenario["workload"] if each["kind"] not in SENDS_NO_FLOWS]
        if any(not isinstance(each["class"], int) or each["kind"] == "trace" for each in sending):
            return None
        return {each["class"] for each in sending}

    @cached_property
    def ping_classes(self) -> set[int]:
        """Classes of service of pings."""
        return {each["class"] for each in self.scenario["workload"] if each["kind"] == "ping"}

    @cached_property
    def groups(self) -> list[str]:
        """Names of the host groups; empty without `[[host.group]]`."""
        named = [group["name"] for group in self.scenario.get("host", {}).get("group", [])]
        return ["default", *named] if named else []

    @cached_property
    def bins(self) -> list[str]:
        """Names of the size bins, beginning with `all`."""
        return ["all", *bin_names(self.scenario)]

    @cached_property
    def markers(self) -> set[str]:
        """Kinds of the markers of all ports."""
        return set(_marker_kinds(self.scenario))

    @cached_property
    def has_queue_pairs(self) -> bool:
        """Whether a workload sends its flows on queue pairs."""
        return any(workload.get("transport") == "roce" for workload in self.scenario["workload"])

    @cached_property
    def lossless(self) -> list[str]:
        """Lossless classes, such as `class3`; empty without `switch.lossless`."""
        classes = (self.scenario["switch"].get("lossless") or {}).get("classes", [])
        return [f"class{number}" for number in sorted(classes)]

    @cached_property
    def network(self) -> Network:
        """Hosts, switches and ports of the topology."""
        return network(self.scenario["topology"])

    @cached_property
    def pools(self) -> dict[str, str]:
        """Pool of each port."""
        return pools_of(self.network.ports, self.scenario["switch"]["buffer"])

    @cached_property
    def end_us(self) -> float | None:
        """Latest end of the run in µs; None without `stop.at`."""
        at = self.scenario.get("stop", {}).get("at")
        return None if at is None else 1e6 * order(at)

    @property
    def samples_queues(self) -> bool:
        """Whether the backlogs of all ports and pools are sampled."""
        return self.scenario["measure"].get("sample_queues") is not None

    def traces_port(self, port: str) -> bool:
        """Return whether a port's backlog is traced."""
        kind = self.network.ports[port]
        wanted = [each for trace in self.scenario["measure"]["traces"] for each in trace["ports"]]
        return any(pattern == kind or fnmatchcase(port, pattern) for pattern in wanted)

    def may_trace_flow(self, flow: int | None = None) -> bool:
        """Return whether a trace may include `flow`; without `flow`, whether it may include any flow."""
        traces = self.scenario["measure"]["flow_traces"]
        return any(flow is None or flow in (trace.get("flows") or [flow]) for trace in traces)


def bin_names(scenario: Mapping[str, Any]) -> list[str]:
    """Return the names of a resolved scenario's size bins, as in `summary.json`.

    >>> bin_names({"measure": {"bins": ["100KB", "10MB"]}}), bin_names({"measure": {"bins": ["1KB"]}})
    (['small', 'medium', 'large'], ['0_to_1000', 'above_1000'])
    """
    edges = [parse_size(edge) for edge in scenario["measure"]["bins"]]
    if len(edges) == 2:
        return ["small", "medium", "large"]
    lows = [0, *edges]
    return [*(f"{low}_to_{high}" for low, high in zip(lows, edges, strict=False)), f"above_{lows[-1]}"]


def _marker_kinds(value: Any) -> Iterable[str]:
    """Yield the kinds in every list of `markers`, at any depth."""
    if isinstance(value, Mapping):
        for key, kept in value.items():
            if key == "markers":
                yield from (marker["kind"] for marker in kept)
            else:
                yield from _marker_kinds(kept)
    elif isinstance(value, list):
        for kept in value:
            yield from _marker_kinds(kept)
