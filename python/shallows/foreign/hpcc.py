"""HPCC's `config.txt`, `topology.txt` and `flow.txt` (alibaba-edu/High-Precision-Congestion-Control).

The input of HPCC's `scratch/third.cc` becomes a scenario: the network as a graph, the flows as a list,
switches and senders from the configuration. HPCC has lossless links (PFC), which are not imported,
and senders that pace by rate, which scenarios do not have. Therefore only CC_MODE 8 (DCTCP) has a
counterpart, and keys without a counterpart are rejected.
"""

from collections import Counter
from pathlib import Path
from typing import Any

from shallows.bounded import is_folder
from shallows.foreign import writing
from shallows.foreign.hpcc_config import Config, read_config
from shallows.foreign.hpcc_flows import read_flows
from shallows.foreign.hpcc_topology import Network, node_name, read_topology
from shallows.foreign.ignoring import NOTHING, Ignored
from shallows.foreign.writing import Cable, Imported

HEADERS = 48
"""Header bytes of a packet without INT: custom-header.cc, 14 + 20 + 8 + 6."""
TCP_HEADERS = 40
"""Header bytes of TCP and IPv4 without timestamps; the rest of `HEADERS` becomes framing."""


def import_hpcc(source: Path, ignored: Ignored = NOTHING, root: Path | None = None) -> Imported:
    """Build the scenario of a configuration file, or of the `config.txt` of a folder.

    Paths in the file are relative to `root`, the working folder of HPCC. By default, they are relative to the
    file's folder or its parent.

    Raises
    ------
    ShallowsError
        If an entry is malformed or has no counterpart in scenarios; the error names file and line.
    """
    config = read_config(source / "config.txt" if is_folder(source) else source, root, ignored)
    network = read_topology(config.path("TOPOLOGY_FILE"), ignored)
    flows, notes = read_flows(config.path("FLOW_FILE"), network)
    several = len(set(flows.column("pg"))) > 1
    mtu = config.payload + TCP_HEADERS
    wire = {"mtu": mtu, "framing": HEADERS - TCP_HEADERS}
    hosts = [node_name(node, is_switch=False) for node in network.hosts]
    switches = [node_name(node, is_switch=True) for node in network.switches]
    tables: dict[str, dict[str, Any]] = {
        "stop": {"at": writing.time(config.stop_ps)},
        "topology": writing.graph(hosts, switches, network.cables, wire),
        "switch": switch(config, network, several=several),
        "tcp": {
            "congestion": {"kind": "dctcp", "g": config.gain},
            "timestamps": False,
            "delayed_ack": {"segments": config.segments_per_ack},
            "rto": {"initial": "5ms", "min": "5ms"},
        },
        "measure": {"fct": "sender"},
    }
    comments = {
        "switch": "HPCC's switches pause senders; the scenario's switches drop when their buffer is full.",
        "tcp": "HPCC's senders start at the rate of their link and have no timeouts. The initial window\n"
        "(RFC 6928) and the RTO are defaults of this import; change them as needed.",
    }
    names = [config.file.name, *(config.path(key).name for key in ("TOPOLOGY_FILE", "FLOW_FILE"))]
    origin = f"HPCC's {names[0]}, {names[1]} and {names[2]}"
    notes = [*config.notes, *network.notes, *notes]
    places = dict.fromkeys(tables, str(config.file)) | {
        "topology": str(config.path("TOPOLOGY_FILE")),
        "workload": str(config.path("FLOW_FILE")),
    }
    return Imported(origin, tables, flows, comments=comments, notes=notes, places=places)


def switch(config: Config, network: Network, *, several: bool) -> dict[str, Any]:
    """Return the `[switch]` table: one pool, and markers by the rate of each port's link (switch-mmu.cc)."""
    table: dict[str, Any] = {"buffer": {"kind": "complete-sharing", "pool": config.buffer}}
    if several:
        # HPCC serves queues 1 to 7 by packet round robin; queue 0 is for control packets.
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
    """Return the names of the switch ports at both ends of a cable."""
    one, other = cable.ends
    return [f"{start}->{end}" for start, end in ((one, other), (other, one)) if start.startswith("switch")]
