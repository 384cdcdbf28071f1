"""Keys of HPCC's `third.cc` and of derived simulators, grouped by their meaning for a scenario.

Derived simulators: PowerTCP and Reverie (inet-tub/ns3-datacenter), ConWeave (conweave-project/conweave-ns3),
Hawkeye (wangshicheng1225/Hawkeye), SimAI (aliyun/SimAI).
"""

from pathlib import Path

from shallows.foreign.reading import Line, read_lines

DCQCN, HPCC, TIMELY, DCTCP, PINT = 1, 3, 7, 8, 10
MODES = {DCQCN: "DCQCN", HPCC: "HPCC", TIMELY: "TIMELY", DCTCP: "DCTCP", PINT: "HPCC-PINT"}
POWERTCP, THETA_POWERTCP = -1, -2
"""Modes without a value of `CC_MODE`: ns3-datacenter's programs select them by arguments."""
CONTROLS = {
    "dcqcn": DCQCN,
    "hpcc": HPCC,
    "hpcc-pint": PINT,
    "timely": TIMELY,
    "dctcp": DCTCP,
    "powertcp": POWERTCP,
    "theta-powertcp": THETA_POWERTCP,
}
"""Dictionary that maps each value of `--control` to its mode."""

MAPS = {"KMIN_MAP", "KMAX_MAP", "PMAX_MAP"}
MAPPED = MAPS | {
    "TOPOLOGY_FILE",
    "FLOW_FILE",
    "SIMULATOR_STOP_TIME",
    "FLOWGEN_STOP_TIME",
    "PACKET_PAYLOAD_SIZE",
    "CC_MODE",
    "ENABLE_QCN",
    "BUFFER_SIZE",
    "L2_ACK_INTERVAL",
    "L2_BACK_TO_ZERO",
    "ACK_HIGH_PRIO",
    "ENABLE_PFC",
    "ENABLE_IRN",
    "HAS_WIN",
    "VAR_WIN",
    "GLOBAL_T",
    "MIN_RATE",
    "RATE_BOUND",
}
OUTPUT = {
    "TRACE_FILE",
    "TRACE_OUTPUT_FILE",
    "ENABLE_TRACE",
    "FCT_OUTPUT_FILE",
    "PFC_OUTPUT_FILE",
    "QLEN_MON_FILE",
    "QLEN_MON_START",
    "QLEN_MON_END",
    # ConWeave.
    "FLOW_INPUT_FILE",
    "CNP_OUTPUT_FILE",
    "EST_ERROR_MON_FILE",
    "VOQ_MON_FILE",
    "VOQ_MON_DETAIL_FILE",
    "UPLINK_MON_FILE",
    "CONN_MON_FILE",
    "SW_MONITORING_INTERVAL",
    "FLOWGEN_START_TIME",
    "LOAD",
    # Hawkeye and SimAI.
    "DIR",
    "BW_MON_FILE",
    "RATE_MON_FILE",
    "CNP_MON_FILE",
    "MON_START",
    "MON_END",
    "QP_MON_INTERVAL",
    "BW_MON_INTERVAL",
    "QLEN_MON_INTERVAL",
}
"""Keys of output files and measurement times."""
SEEDS = {"RANDOM_SEED"}
UNREAD = {"DATA_RATE", "LINK_DELAY"}
"""Keys whose values the topology file provides."""
OF_MODES = {
    DCQCN: {
        "ALPHA_RESUME_INTERVAL",
        "CLAMP_TARGET_RATE",
        "EWMA_GAIN",
        "FAST_RECOVERY_TIMES",
        "RATE_AI",
        "RATE_DECREASE_INTERVAL",
        "RATE_HAI",
        "RP_TIMER",
    },
    HPCC: {
        "FAST_REACT",
        "INT_MULTI",
        "MI_THRESH",
        "MULTI_RATE",
        "RATE_AI",
        "SAMPLE_FEEDBACK",
        "U_TARGET",
    },
    TIMELY: {"RATE_AI", "RATE_HAI"},
    DCTCP: {"EWMA_GAIN", "DCTCP_RATE_AI"},
    PINT: {"MI_THRESH", "PINT_LOG_BASE", "PINT_PROB", "RATE_AI", "U_TARGET"},
    POWERTCP: {"FAST_REACT", "INT_MULTI", "SAMPLE_FEEDBACK"},
    THETA_POWERTCP: {"FAST_REACT", "SAMPLE_FEEDBACK"},
}
"""Dictionary that maps modes of congestion control to the keys that rdma-hw.cc reads only in this mode."""
OF_CONWEAVE = {
    "CONWEAVE_TX_EXPIRY_TIME",
    "CONWEAVE_REPLY_TIMEOUT_EXTRA",
    "CONWEAVE_EXTRA_VOQ_FLUSH_TIME",
    "CONWEAVE_PATH_PAUSE_TIME",
    "CONWEAVE_DEFAULT_VOQ_WAITING_TIME",
}
"""Keys that only ConWeave's path selection (`LB_MODE 9`) reads."""
OFF = {
    "ERROR_RATE_PER_LINK": 1,
    "LINK_DOWN": 3,
    "LB_MODE": 1,
    "NIC_TOTAL_PAUSE_TIME": 1,
}
"""Keys without effect if all values are 0, with their number of values; `LB_MODE 0`, e.g., is ECMP."""
OF_HAWKEYE = {"DIR", "AGENT_NODE", "AGENT_THRESHOLD", "EPOCH_TIME", "NO_CC_NODE"}
"""Keys of Hawkeye only. In its files `BUFFER_SIZE` is in KiB, in those of other simulators in MiB."""
UNUSED = {"L2_CHUNK_SIZE", "PAUSE_TIME", "USE_DYNAMIC_PFC_THRESHOLD"}
"""Keys that HPCC reads and does not use: its pauses do not expire, and PFC thresholds are dynamic."""
OF_PFC_IN_CONWEAVE = {"PAUSE_TIME", "USE_DYNAMIC_PFC_THRESHOLD"}
"""Keys of `UNUSED` that ConWeave uses."""
ONLY_CONWEAVE = OF_CONWEAVE | {
    "ENABLE_IRN",
    "ENABLE_PFC",
    "FLOWGEN_START_TIME",
    "FLOWGEN_STOP_TIME",
    "LB_MODE",
}
"""Keys that show that a file is for ConWeave."""
KNOWN = set().union(MAPPED, OUTPUT, UNREAD, *OF_MODES.values(), OF_CONWEAVE, SEEDS, OFF, OF_HAWKEYE, UNUSED)
LISTS = {"AGENT_NODE", "NO_CC_NODE"}
"""Keys with a count and that many values; keys of `MAPS` have a count and that many pairs."""


def read(path: Path, notes: list[str]) -> dict[str, Line]:
    """Return a dictionary that maps each key to a line with its effective values.

    The last line of a repeated key counts; lines of one map, such as KMIN_MAP, are combined. HPCC reads word
    by word, a key and then its values. It skips all other words and has no comments, so it reads keys even in
    lines that begin with `#` or `//`; a note reports such lines.
    """
    found: dict[str, Line] = {}
    for line in read_lines(path):
        comment = line.words[0].startswith(("#", "//"))
        given, rest = _split(line)
        for entry in given:
            key = entry.words[0]
            if comment:
                notes.append(
                    f"{path.name}:{line.number}: {key} is read from this line, because HPCC has no comments"
                )
            if key in found:
                notes.append(f"{path.name}:{line.number}: {key} is repeated; this line counts, as in HPCC")
                entry = _both(found[key], entry) if key in MAPS else entry
            found[key] = entry
        if given and rest and not comment:
            notes.append(
                f"{path.name}:{line.number}: {' '.join(rest)}: left out, because HPCC skips such words"
            )
        elif rest and not comment:
            found[rest[0]] = line
    return found


def _split(line: Line) -> tuple[list[Line], list[str]]:
    """Return the keys of a line with their values, and the remaining words."""
    given, rest = [], []
    words = iter(line.words)
    for word in words:
        if word not in KNOWN:
            rest.append(word)
            continue
        first = next(words, "")
        count = _values(word, first)
        if count is None:
            raise line.error(
                f'the count of {word} must be a whole number from 0 to 9999, got "{first[:40]}"',
                f"write {word}, the number of its entries, and the entries",
            )
        taken = [first, *(next(words, "") for _ in range(count - 1))]
        if not taken[-1]:
            had = sum(map(bool, taken))
            raise line.error(
                f"{word} must have {count} values in this line, got {had}",
                "add the missing values to this line",
            )
        given.append(Line(line.file, line.number, [word, *taken]))
    return given, rest


def _both(first: Line, second: Line) -> Line:
    """Combine two lines of the same map, such as KMIN_MAP."""
    pairs = [*first.words[2:], *second.words[2:]]
    return Line(second.file, second.number, [second.words[0], str(len(pairs) // 2), *pairs])


def _values(key: str, count: str) -> int | None:
    """Return the number of values after a key whose first value is `count`; None if `count` is no number.

    >>> _values("CC_MODE", "8"), _values("LINK_DOWN", "0"), _values("KMIN_MAP", "2")
    (1, 3, 5)
    """
    if key in MAPS | LISTS:
        each = 2 if key in MAPS else 1
        return 1 + each * int(count) if count.isascii() and count.isdecimal() and len(count) < 5 else None
    return OFF.get(key, 1)
