"""HPCC's `config.txt`, `topology.txt` and `flow.txt` (alibaba-edu/High-Precision-Congestion-Control).

The input of HPCC's `scratch/third.cc` becomes a scenario: the network as a graph, the flows as a list of RDMA
WRITEs, switches and senders from the configuration. Keys without a counterpart are rejected.
"""

from pathlib import Path
from typing import Any

from shallows.bounded import is_folder
from shallows.foreign import hpcc_keys as keys
from shallows.foreign import writing
from shallows.foreign.hpcc_config import NO_ARGUMENTS, Arguments, Config, read_config
from shallows.foreign.hpcc_flows import read_flows
from shallows.foreign.hpcc_paths import longest
from shallows.foreign.hpcc_roce import HIGH_PRIORITY, ack_class, ack_sizes, roce, wire
from shallows.foreign.hpcc_switch import acks_first, port, switch
from shallows.foreign.hpcc_topology import node_name, read_topology
from shallows.foreign.ignoring import NOTHING, Ignored
from shallows.foreign.writing import Imported


def import_hpcc(source: Path, ignored: Ignored = NOTHING, arguments: Arguments = NO_ARGUMENTS) -> Imported:
    """Build the scenario of a configuration file, or of the `config.txt` of a folder.

    Raises
    ------
    ShallowsError
        If an entry is malformed or has no counterpart in scenarios; the error names file and line.
    """
    config = read_config(source / "config.txt" if is_folder(source) else source, ignored, arguments)
    network = read_topology(config.path("TOPOLOGY_FILE"), ignored)
    flows, notes = read_flows(config.path("FLOW_FILE"), network)
    groups = sorted(set(flows.column("pg")))
    mtu, framing = wire(config)
    hosts = [node_name(node, is_switch=False) for node in network.hosts]
    switches = [node_name(node, is_switch=True) for node in network.switches]
    lossless = groups if config.is_on("ENABLE_PFC", default=True) else []
    acks = ack_class(config, groups)
    host: dict[str, Any] = {"jitter": "off", "nic": {"limit": "64MB"}}
    tables: dict[str, dict[str, Any]] = {
        "stop": {"at": writing.time(config.stop_ps)},
        "topology": writing.graph(hosts, switches, network.cables, {"mtu": mtu, "framing": framing}),
        "host": host,
        "switch": switch(config, network, lossless, acks),
        "roce": roce(config, longest(network, config.payload), acks),
        "measure": {"fct": "sender"},
    }
    if len(groups) > 1 or acks == HIGH_PRIORITY:
        tables["switch"]["port"] = host["nic"]["port"] = port()
    elif acks is not None:
        host["nic"]["port"] = acks_first(acks)
    names = [config.file.name, *(config.path(key).name for key in ("TOPOLOGY_FILE", "FLOW_FILE"))]
    return Imported(
        f"HPCC's {names[0]}, {names[1]} and {names[2]}",
        tables,
        flows,
        workload={"transport": "roce"},
        comments=_comments(config, is_lossless=bool(lossless), has_ack_class=acks is not None),
        notes=[*config.notes, *network.notes, *notes],
        places=dict.fromkeys(tables, str(config.file))
        | {"topology": str(config.path("TOPOLOGY_FILE")), "workload": str(config.path("FLOW_FILE"))},
    )


def _comments(config: Config, *, is_lossless: bool, has_ack_class: bool) -> dict[str, str]:
    """Return comments on differences from HPCC's simulator, by the scenario table that they belong to."""
    ours, theirs = ack_sizes(config)
    acks = "HPCC's size" if ours == theirs else f"{ours} bytes; HPCC's have {theirs}"
    first = (
        "delay no packet and send acknowledgements first. Their"
        if has_ack_class
        else "delay no packet, and their"
    )
    comments = {
        "host": f"HPCC's NICs {first} queues have no limit.",
        "roce": "Packets have HPCC's size, but the first packet of a flow has 16 bytes more (RETH).\n"
        f"Acknowledgements have {acks}. HPCC has no retransmission timeout.",
    }
    if config.modes.chosen == keys.DCQCN:
        comments["roce"] += (
            "\nEach marked packet causes a CNP; HPCC sets a bit in the acknowledgement instead."
        )
    if config.modes.chosen == keys.POWERTCP:
        comments["roce"] += "\nns3-datacenter multiplies PowerTCP's rates by U_TARGET as well."
    if config.modes.chosen == keys.THETA_POWERTCP:
        comments["roce"] += (
            "\nbase_rtt is 1.05 times the longest round-trip time; in ns3-datacenter, 1.05 times the\n"
            "shortest one of each flow."
        )
    if not is_lossless:
        comments["switch"] = "Packets are dropped when the buffer is full."
    return comments
