"""Results of one run as tables, for the terminal and for reports."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from shallows.quantity import count, digits, duration, percent, rate, size
from shallows.runs import percentiles
from shallows.runs.bins import bins, defined
from shallows.runs.breakdown_tables import PORTS
from shallows.runs.table import NOTHING, Table


def marking_curves(curves: Iterable[dict[str, Any]], title: str = "Marking curves") -> Table:
    """Tabulate the marking curves: lower and upper thresholds of each marker, and the limits of its buffer.

    Each marker of each kind of port has a column, and its values are rows, because terminals are narrow.
    """
    curves = list(curves)
    if not curves:
        return Table(title, ["no marker anywhere: packets are never marked"], [])
    rows = [
        ["link", *(rate(curve["rate_bps"]) for curve in curves)],
        ["marker", *(f"{curve['kind']}, {curve['scope']}" for curve in curves)],
        ["decides at", *(curve["at"] for curve in curves)],
        ["marks above", *(_range(curve, "bytes", size) for curve in curves)],
        ["  in packets", *(_range(curve, "packets", digits) for curve in curves)],
        ["  in µs", *(_range(curve, "us", digits) for curve in curves)],
        ["  in BDP", *(_range(curve, "bdp", digits) for curve in curves)],
    ]
    if any(curve["pmax"] < 1 for curve in curves):
        rows.append(["  probability up to", *(percent(curve["pmax"]) for curve in curves)])
    for busy in sorted({limit["busy_ports"] for curve in curves for limit in curve["limits"]}):
        rows.append([f"limit, {busy} busy", *(_limit(curve, busy) for curve in curves)])
    rows.append(["can mark", *map(_fires, curves)])
    columns = ["", *(f"{curve['ports']} × {curve['port']}" for curve in curves)]
    base = digits(curves[0]["base_rtt_us"])
    note = (
        f"BDP: the link's rate times the round-trip time without queues, {base} µs. "
        "Limit: largest possible backlog while this number of ports of the pool is busy."
    )
    return Table(title, columns, rows, note=note)


def _range(curve: dict[str, Any], unit: str, show: Callable[[float], str]) -> str:
    low, high = show(curve["kmin"][unit]), show(curve["kmax"][unit])
    number, _, prefix = low.partition(" ")
    if low == high:
        return low
    return f"{number}–{high}" if high.endswith(f" {prefix}") else f"{low}–{high}"


def _limit(curve: dict[str, Any], busy: int) -> str:
    limits = {limit["busy_ports"]: size(limit["limit_bytes"]) for limit in curve["limits"]}
    return limits.get(busy, NOTHING)


def _fires(curve: dict[str, Any]) -> str:
    able = [limit["busy_ports"] for limit in curve["limits"] if limit["can_fire"]]
    if len(able) == len(curve["limits"]):
        return "yes"
    if not able:
        return "never"
    # The curves have limits only for these numbers of busy ports, so the note names no range.
    unable = [limit["busy_ports"] for limit in curve["limits"] if not limit["can_fire"]]
    return f"{_either(able)} busy, not {_either(unable)}"


def _either(numbers: Sequence[int]) -> str:
    return " or ".join(map(str, numbers))


def pause_thresholds(rows: Iterable[dict[str, Any]], title: str = "Pauses (PFC)") -> Table | None:
    """Tabulate the memory use at which each kind of port pauses its senders, and whether ECN marks first.

    `rows` are the thresholds by kind of port. Returns None without lossless classes.
    """
    ports = list(rows)
    if not ports:
        return None
    levels = [{level["groups"]: level for level in port["levels"]} for port in ports]
    numbers = sorted({number for of_port in levels for number in of_port})

    def lines(name: str, show: Callable[[dict[str, Any]], str]) -> list[list[str]]:
        found = []
        for number in numbers:
            cells = [show(level[number]) if number in level else NOTHING for level in levels]
            if any(cell != NOTHING for cell in cells):
                found.append([f"{name}, {number} group{'s' if number > 1 else ''}", *cells])
        return found

    table = [
        ["arrivals", *(rate(port["rate_bps"]) for port in ports)],
        ["shared memory", *(size(port["shared_bytes"]) for port in ports)],
        *lines("pauses at", lambda level: size(level["group_bytes"])),
        *lines("after µs", lambda level: digits(level["after_us"])),
        *lines("first", _first),
        ["ECN always first below", *(size(port["mark_below_bytes"]) for port in ports)],
    ]
    kinds = Counter(port["port"] for port in ports)
    # Ports of one kind at unlike switches are distinguished by the name of a switch.
    places = [f" of {port['example'].split('->')[0]}" if kinds[port["port"]] > 1 else "" for port in ports]
    columns = ["", *(f"{port['ports']} × {port['port']}{of}" for port, of in zip(ports, places, strict=True))]
    note = (
        "Pauses at: memory of a lossless group when it pauses its sender, while this number of groups of the "
        "switch is congested. After: time until the first pause if this number of ports receives at full "
        "rate for one output port of the same rate. First: ECN if the output port marks packets before the "
        "pause."
    )
    return Table(title, columns, table, note=note)


def _first(level: dict[str, Any]) -> str:
    pauses, marks = level["pause_first"], level["mark_first"]
    if pauses and marks:
        return f"PFC at {', '.join(pauses)}"
    return "PFC" if pauses else "ECN" if marks else NOTHING


HEADROOM = {
    "own_bytes": "packet before the PFC frame, and the frame",
    "cable_bytes": "cable, both directions",
    "response_bytes": "response time of the sender",
    "peer_bytes": "packet that the sender has begun",
    "above_limit_bytes": "packet that does not fit below the limit",
}
"""Terms of headroom, by key."""


def headrooms(rows: Iterable[dict[str, Any]], title: str = "Headroom") -> Table | None:
    """Tabulate the headroom of each kind of port, with its terms in bytes; None without lossless classes."""
    ports = list(rows)
    if not ports:
        return None
    table = [["arrivals", *(rate(port["rate_bps"]) for port in ports)]]
    table += [[name, *(f"{port[key]:,}" for port in ports)] for key, name in HEADROOM.items()]
    if any(port["occupancy"] > 1 for port in ports):
        table.append(["memory per byte, in cells", *(digits(port["occupancy"]) for port in ports)])
    table.append(["needed", *(f"{port['needed_bytes']:,}" for port in ports)])
    table.append(["headroom", *(f"{port['headroom_bytes']:,}" for port in ports)])
    columns = ["bytes", *(f"{port['ports']} × {port['port']}" for port in ports)]
    note = (
        "Needed: memory for the bytes that can still arrive after the decision to pause the sender. "
        "Headroom: memory that each lossless class of a port has for them."
    )
    return Table(title, columns, table, note=note)


def lossless(summary: Mapping[str, Any]) -> list[Table | None]:
    """Tabulate thresholds of pauses and headroom of lossless classes, which are known before the run."""
    return [pause_thresholds(summary.get("pause_thresholds", [])), headrooms(summary.get("headroom", []))]


def completion(summary: Mapping[str, Any], edges: Sequence[str] = ()) -> Table:
    """Tabulate flow completion times and slowdowns by size; `edges` are the edges of the size bins."""
    rows = []
    missing: set[float] = set()
    for name in bins(summary):
        times = summary["fct_us"][name]
        slow = {"count": times["count"], **summary["slowdown"].get(name, {})}
        numbers = _numbers(times, ("mean", "p50", "p95", "p99", "max"), missing)
        numbers += _numbers(slow, ("mean", "p99"), missing)
        rows.append([name.replace("_", " "), f"{times['count']:,}", *map(digits, numbers)])
    columns = [
        "flows",
        "count",
        "mean µs",
        "p50 µs",
        "p95 µs",
        "p99 µs",
        "max µs",
        "slowdown",
        "p99 slowdown",
    ]
    return Table(
        "Flow completion times", columns, rows, note=_notes(defined(edges), percentiles.note(missing))
    )


def _notes(*notes: str) -> str:
    return "; ".join(filter(None, notes))


RANKS = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
"""Ranks of the percentiles of `summary.json`."""


def _numbers(described: dict[str, Any], keys: Iterable[str], missing: set[float]) -> list[float | None]:
    """Return the values of these keys; None for percentiles of too few observations.

    The ranks of percentiles that become None are added to `missing`.
    """
    found = []
    for key in keys:
        value = described.get(key)
        if value is not None and key in RANKS and not percentiles.suffices(described["count"], RANKS[key]):
            missing.add(RANKS[key])
            value = None
        found.append(value)
    return found


def markers(summary: Mapping[str, Any]) -> Table | None:
    """Tabulate the packets that each kind of marker selected at all ports; None if only one kind exists."""
    counts = summary.get("markers") or {}
    if len(counts) < 2 and not any(count["incast"] or count["dropped"] for count in counts.values()):
        return None
    rows = [
        [name, *(f"{chosen[what]:,}" for what in ("marked", "incast", "dropped"))]
        for name, chosen in counts.items()
    ]
    note = "A packet that several markers choose counts for each of them."
    return Table("Packets chosen by markers", ["marker", "CE", "incast bit", "dropped"], rows, note=note)


def pauses(summary: Mapping[str, Any]) -> Table | None:
    """Tabulate pauses by lossless class, over all ports; None without lossless classes."""
    classes = summary.get("lossless")
    if not classes:
        return None
    rows = [
        [
            name.replace("class", "class "),
            *(f"{counts[what]:,}" for what in ("pauses", "frames")),
            digits(counts["paused_us"]),
            size(counts["max_headroom_bytes"]),
            f"{counts['dropped']:,}",
        ]
        for name, counts in classes.items()
    ]
    columns = ["pauses", "count", "PFC frames", "paused µs", "most headroom", "dropped"]
    note = "Paused: sum over all ports of the time for which they were paused."
    return Table("Pauses by lossless class", columns, rows, note=note)


ACTIONS = {"CNPs": "cnps", "INT": "telemetry", "rate cuts": "cuts", "increases": "increases"}
"""Columns of tables of congestion controls, with the keys of their counts."""


def queue_pairs(summary: Mapping[str, Any]) -> Table | None:
    """Tabulate losses and congestion control of queue pairs; None without queue pairs."""
    counts = summary.get("queue_pairs")
    if not counts:
        return None
    columns = {
        "queue pairs": "queue_pairs",
        "ended by timeouts": "retries_exhausted",
        "ended by RNR": "rnr_retries_exhausted",
        "NAKs": "naks",
        "RNR NAKs": "rnr_naks",
        "timeouts": "timeouts",
        "retransmits": "retransmits",
        **ACTIONS,
    }
    # Runs of older versions lack the counts of RNR.
    row = [f"{counts.get(key, 0):,}" for key in columns.values()]
    notes = {
        "telemetry": "INT: acknowledgements with in-band telemetry.",
        "rnr_naks": "RNR: receiver not ready, because it has no receive work request.",
    }
    note = " ".join(text for key, text in notes.items() if counts.get(key))
    return Table("Queue pairs (RoCEv2)", [*columns], [row], note=note)


def congestion_controls(summary: Mapping[str, Any]) -> Table | None:
    """Tabulate the actions of congestion controls of queue pairs; None unless the run has several of them.

    A row is one workload and, if the scenario has groups of hosts, one group that sends data.
    """
    # Runs of older versions lack this list.
    controls = summary.get("queue_pair_controls", [])
    if len(controls) < 2:
        return None
    has_groups = any(control["group"] != "default" for control in controls)
    groups = {"group of senders": "group"} if has_groups else {}
    names = {"workload": "workload", **groups, "control": "congestion"}
    columns = {"queue pairs": "queue_pairs", **ACTIONS}
    rows = [
        [
            *(str(control[key]) for key in names.values()),
            *(f"{control[key]:,}" for key in columns.values()),
        ]
        for control in controls
    ]
    return Table("Congestion control of queue pairs", [*names, *columns], rows, names=len(names))


def queries(summary: Mapping[str, Any]) -> Table | None:
    """Tabulate the completion times of queries by workload; None if the run has no queries."""
    measured = summary.get("queries")
    if not measured:
        return None
    rows = []
    missing: set[float] = set()
    for name, described in measured.items():
        numbers = _numbers(described, ("mean", "p50", "p95", "p99", "p999"), missing)
        shares = [percent(described[key]) for key in ("with_timeout", "quality")]
        label = name.replace("workload", "workload ")
        counted = f"{described['count']:,}"
        rows.append([label, counted, *map(digits, numbers), *shares, digits(described["goodput_gbps"])])
    columns = [
        "queries",
        "count",
        "mean µs",
        "p50 µs",
        "p95 µs",
        "p99 µs",
        "p99.9 µs",
        "timed out",
        "quality",
        "Gb/s",
    ]
    note = "Timed out: share of queries with a timeout. Gb/s: what a query got over its time, on average."
    if missing:
        note += f" {percentiles.note(missing)}."
    return Table("Queries", columns, rows, note=note)


def pings(summary: Mapping[str, Any]) -> Table | None:
    """Tabulate round-trip times of echoes by class of service; None without a workload of kind `ping`."""
    measured = summary.get("ping_rtt_us")
    if not measured:
        return None
    rows = []
    missing: set[float] = set()
    for name, times in measured.items():
        numbers = _numbers(times, ("mean", "p50", "p95", "p99", "max"), missing)
        label = name.replace("class", "class ")
        rows.append([label, f"{times['count']:,}", *map(digits, numbers), f"{times['lost']:,}"])
    columns = ["echoes", "count", "mean µs", "p50 µs", "p95 µs", "p99 µs", "max µs", "no reply"]
    return Table("Round-trip times of pings", columns, rows, note=percentiles.note(missing))


def network(summary: Mapping[str, Any]) -> Table:
    """Tabulate the network's results: goodput, losses, marks."""
    flows, packets = summary["flows"], summary["packets"]
    lost_data = {place: packets[f"dropped_data_in_{place}"] for place in ("switches", "nics")}
    rows = [
        ["flows completed", f"{flows['completed']:,} of {flows['started']:,}"],
        ["simulated time", f"{digits(summary['simulated_s'] * 1e3)} ms"],
        ["goodput", f"{digits(summary['goodput_gbps'])} Gb/s"],
        ["packets sent", f"{packets['sent']:,}"],
        ["packets dropped in switches", _lost(summary, "switches")],
        ["packets dropped in hosts' NICs", _lost(summary, "nics")],
        ["packets marked", f"{packets['marked']:,}"],
        ["timeouts", f"{summary['timeouts']:,}"],
        ["retransmitted segments", f"{summary['retransmits']:,}"],
        ["  lost in switches, in NICs", f"{lost_data['switches']:,}, {lost_data['nics']:,}"],
    ]
    if summary.get("datagram_gbps"):
        rows.insert(3, ["datagrams received", f"{digits(summary['datagram_gbps'])} Gb/s"])
    return Table("Network", ["", "total"], rows)


def _lost(summary: Mapping[str, Any], place: str) -> str:
    dropped = summary["packets"][f"dropped_in_{place}"]
    return f"{dropped:,} ({percent(summary[f'loss_rate_in_{place}'])})" if dropped else "none"


def ports(summary: Mapping[str, Any]) -> Table | None:
    """Tabulate losses and marks by kind of port.

    Returns None if no kind has losses or marks, or a single kind other than `nic` has them all.
    """
    kinds = summary["ports"]
    busy = [name for name, kind in kinds.items() if kind["dropped"] or kind["marked"]]
    if len(busy) < 2 and "nic" not in busy:
        return None
    rows = [
        [
            PORTS.get(name, name),
            *(f"{kind[what]:,}" for what in ("ports", "received", "dropped")),
            percent(kind["loss_rate"]),
            *(f"{kind[what]:,}" for what in ("dropped_data", "marked")),
        ]
        for name, kind in kinds.items()
    ]
    columns = ["ports", "count", "packets", "dropped", "loss", "data lost", "marked"]
    return Table("Losses and marks by place", columns, rows)


def health(summary: Mapping[str, Any]) -> Table | None:
    """Tabulate the validity of a testbed run: lateness, losses and CPU steal time; None for a simulation."""
    if (found := summary.get("health")) is None:
        return None
    rows = [
        [name, f"{of['count']:,}", f"{of['median_us']:,}", f"{of['p99_us']:,}", digits(of["worst_us"])]
        for name, of in (
            ("frames handed over", found["lateness"]),
            ("frames taken", found["pickup"]),
            ("flows written", found["writing"]),
        )
    ]
    bounds = ["bound", "", "", digits(found["bound_p99_us"]), digits(found["bound_worst_us"])]
    lost = found["overruns"] + found["refused"]
    note = (
        f"{lost:,} frames lost beside the model; {digits(found['steal_percent'])} % of the processors' time "
        f"went to others. {'Valid.' if found['valid'] else 'Not valid.'}"
    )
    if (dilation := found["dilation"]) > 1:
        note += f" Of the machine's time; the network's passes {dilation} times slower."
    return Table(
        "Health: how late, in µs", ["", "count", "median", "p99", "worst"], [*rows, bounds], note=note
    )


def engine(summary: Mapping[str, Any]) -> str:
    """Return the cost of the run in one line: packet-hops, wall time, speed and memory."""
    cost = summary["engine"]
    return (
        f"{count(cost['packet_hops'])} packet-hops in {duration(cost['wall_s'])} "
        f"({count(cost['packet_hops_per_s'])}/s), {digits(cost['peak_rss_mb'])} MB"
    )
