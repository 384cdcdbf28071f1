"""HPCC's `config.txt`, `topology.txt` and `flow.txt` (alibaba-edu/High-Precision-Congestion-Control).

What its `scratch/third.cc` reads becomes a scenario: the network as a graph, the flows as a list, switches
and senders from the configuration. Its links are lossless (PFC), its senders pace by rate; ours are neither,
so that only CC_MODE 8 (DCTCP) maps, and keys that would be ignored are refused.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows.foreign import writing
from shallows.foreign.hpcc_config import Config, read_config
from shallows.foreign.reading import PS_PER_S, Line, read_lines
from shallows.foreign.writing import Cable, Flow, Imported

HEADERS = 48
"""Bytes around the data of a packet without INT: custom-header.cc, 14 + 20 + 8 + 6."""
TCP_HEADERS = 40
"""Ours without timestamps; the difference is framing."""


@dataclass(frozen=True)
class Network:
    """A topology file: nodes have numbers, of which switches are listed."""

    hosts: list[int]
    switches: list[int]
    cables: list[Cable]


def node_name(node: int, *, is_switch: bool) -> str:
    """What a node is called in our scenario: its number stays legible."""
    return f"{'switch' if is_switch else 'host'}{node}"


def import_hpcc(source: Path, ignored: Sequence[str] = ()) -> Imported:
    """The scenario of a configuration file, or of the `config.txt` of a folder.

    Raises
    ------
    ShallowsError
        With file and line, if something is malformed or would be ignored.
    """
    config = read_config(source / "config.txt" if source.is_dir() else source, ignored)
    network = read_topology(config.path("TOPOLOGY_FILE"))
    flows = read_flows(config.path("FLOW_FILE"), network)
    classes = sorted({flow.pg for flow in flows if flow.pg is not None})
    mtu = config.payload + TCP_HEADERS
    wire = {"mtu": mtu, "framing": HEADERS - TCP_HEADERS}
    hosts = [node_name(node, is_switch=False) for node in network.hosts]
    switches = [node_name(node, is_switch=True) for node in network.switches]
    tables: dict[str, dict[str, Any]] = {
        "stop": {"at": writing.time(config.stop_ps)},
        "topology": writing.graph(hosts, switches, network.cables, wire),
        "switch": switch(config, network, several=len(classes) > 1),
        "tcp": {
            "congestion": {"kind": "dctcp", "g": config.gain},
            "timestamps": False,
            "delayed_ack": {"segments": config.segments_per_ack},
            "rto": {"initial": "5ms", "min": "5ms"},
        },
        "measure": {"fct": "sender"},
    }
    comments = {
        "switch": "HPCC's switches pause senders before they drop; these drop when the buffer is full.",
        "tcp": "HPCC's senders start at the rate of their link and have no timeouts. The initial window\n"
        "(RFC 6928) and the RTO are ours: change them as you like.",
    }
    origin = f"HPCC's {config.file.name}, {network_file(config)} and {flow_file(config)}"
    return Imported(origin, tables, flows, comments=comments, notes=config.notes)


def network_file(config: Config) -> str:
    """Name of the topology file."""
    return config.path("TOPOLOGY_FILE").name


def flow_file(config: Config) -> str:
    """Name of the flow file."""
    return config.path("FLOW_FILE").name


def switch(config: Config, network: Network, *, several: bool) -> dict[str, Any]:
    """`[switch]`: one pool for all ports, marks by the rate of each port's link (switch-mmu.cc)."""
    table: dict[str, Any] = {"buffer": {"kind": "complete-sharing", "pool": f"{config.buffer_mib}MiB"}}
    if several:
        # Its queues 1 to 7 take turns by packets; queue 0 is for control.
        table["port"] = {
            "kind": "wrr",
            "queues": 7,
            "quantum": "1p",
            "classes": [0, 0, 1, 2, 3, 4, 5, 6],
        }
    if not config.marks:
        return table
    rates = Counter(cable.rate for cable in network.cables)
    [(most, _)] = rates.most_common(1)
    table["markers"] = [config.marker(most)]
    overrides = []
    for rate in sorted(set(rates) - {most}):
        ports = [port for cable in network.cables if cable.rate == rate for port in _ports(cable)]
        overrides.append({"ports": sorted(set(ports)), "markers": [config.marker(rate)]})
    if overrides:
        table["overrides"] = overrides
    return table


def _ports(cable: Cable) -> list[str]:
    """Of a cable, the ports of switches."""
    one, other = cable.ends
    return [f"{start}->{end}" for start, end in ((one, other), (other, one)) if start.startswith("switch")]


def read_topology(path: Path) -> Network:
    """A `topology.txt`: counts of nodes, switches and links, the switches, then a line for each link."""
    lines = read_lines(path)
    if not lines:
        raise ShallowsError(f"{path} is empty", "its first line is NODES SWITCHES LINKS")
    first = lines[0]
    first.expect(3, "NODES SWITCHES LINKS; the formats of HPCC's descendants with more are not read")
    nodes = first.whole("the number of nodes", first.words[0], 2, 1 << 17)
    switch_count = first.whole("the number of switches", first.words[1], 1, nodes - 1)
    link_count = first.whole("the number of links", first.words[2], 1, 1 << 20)
    if len(lines) < 2:
        raise first.error("no line follows", "the second line lists the switches")
    second = lines[1]
    if len(second.words) != switch_count:
        message = f"{len(second.words)} switches; the first line says {switch_count}"
        raise second.error(message, "list each switch once, in this line")
    switches = [second.whole("switch", word, 0, nodes - 1) for word in second.words]
    if len(set(switches)) < len(switches):
        raise second.error("a switch is listed twice", "list each once")
    _check_count(first, lines[2:], link_count, "links")
    is_switch = set(switches)
    linked: dict[int, int] = {}
    cables = [_cable(line, nodes, is_switch, linked) for line in lines[2:]]
    hosts = [node for node in range(nodes) if node not in is_switch]
    if alone := [host for host in hosts if host not in linked]:
        raise first.error(f"node {alone[0]} is a host without a link", "give it one, or list it as a switch")
    return Network(hosts, sorted(switches), cables)


def _cable(line: Line, nodes: int, switches: set[int], linked: dict[int, int]) -> Cable:
    line.expect(5, "SOURCE DESTINATION 100Gbps 1us 0 (the last is the error rate)")
    ends = [line.whole("node", word, 0, nodes - 1) for word in line.words[:2]]
    if ends[0] == ends[1]:
        raise line.error(f"node {ends[0]} is linked with itself", "link two different nodes")
    for host in (end for end in ends if end not in switches):
        if host in linked:
            message = f"host {host} has a second link, the first is in line {linked[host]}"
            raise line.error(message, "a host has one link here")
        linked[host] = line.number
    if not switches.intersection(ends):
        raise line.error("two hosts are linked", "link each of them to a switch")
    if line.decimal("the error rate", line.words[4]) != 0:
        raise line.error(
            f"an error rate of {line.words[4]}",
            "links lose nothing here: change it to 0 if you can do without",
        )
    one, other = (node_name(end, is_switch=end in switches) for end in ends)
    return Cable((one, other), line.rate(line.words[2]), line.time("the delay", line.words[3]))


def read_flows(path: Path, network: Network) -> list[Flow]:
    """A `flow.txt`: the number of flows, then a line for each, in order of time."""
    lines = read_lines(path)
    if not lines:
        raise ShallowsError(f"{path} is empty", "its first line is the number of flows")
    first = lines[0]
    first.expect(1, "the number of flows")
    _check_count(first, lines[1:], first.whole("the number of flows", first.words[0], 1), "flows")
    numbers = {node: number for number, node in enumerate(network.hosts)}
    flows: list[Flow] = []
    for line in lines[1:]:
        flow = _flow(line, numbers)
        if flows and flow.start_ps < flows[-1].start_ps:
            raise line.error("it starts before the flow above it", "sort the flows by time")
        flows.append(flow)
    return flows


def _flow(line: Line, numbers: dict[int, int]) -> Flow:
    line.expect(6, "SOURCE DESTINATION PRIORITY_GROUP PORT BYTES START_SECONDS")
    source, destination, pg, port, size, start = line.words
    ends = [line.whole(name, word) for name, word in (("source", source), ("destination", destination))]
    for end in ends:
        if end not in numbers:
            raise line.error(f"node {end} is no host", "hosts are the nodes that are no switches")
    if ends[0] == ends[1]:
        raise line.error(f"host {ends[0]} sends to itself", "name two different hosts")
    return Flow(
        start_ps=line.picoseconds("the start", start, PS_PER_S),
        source=numbers[ends[0]],
        destination=numbers[ends[1]],
        size=line.whole("the size", size, 1, 1 << 50),
        # Queue 0 is that of control packets, which are never marked.
        pg=line.whole("the priority group", pg, 1, 7),
        port=line.whole("the port", port, 0, 65_535),
    )


def _check_count(first: Line, lines: list[Line], said: int, what: str) -> None:
    if len(lines) > said:
        raise lines[said].error(f"one line too many: {first.file.name} says {said} {what}", "mend the number")
    if len(lines) < said:
        raise first.error(f"{said} {what}, but only {len(lines)} lines follow", "mend the number")
