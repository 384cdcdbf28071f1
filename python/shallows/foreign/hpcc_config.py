"""The keys of HPCC's `config.txt`: those that a scenario has, those that mean nothing to it, the rest."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from shallows.bounded import is_file
from shallows.errors import ShallowsError
from shallows.foreign.reading import PS_PER_S, Line, read_lines

DCTCP = 8

MAPPED = {
    "TOPOLOGY_FILE",
    "FLOW_FILE",
    "SIMULATOR_STOP_TIME",
    "PACKET_PAYLOAD_SIZE",
    "CC_MODE",
    "EWMA_GAIN",
    "ENABLE_QCN",
    "KMIN_MAP",
    "KMAX_MAP",
    "PMAX_MAP",
    "BUFFER_SIZE",
    "L2_ACK_INTERVAL",
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
}
"""They say what HPCC writes."""
UNREAD = {"DATA_RATE", "LINK_DELAY"}
"""HPCC takes them from its topology file."""
OTHER_MODES = {
    "CLAMP_TARGET_RATE",
    "ALPHA_RESUME_INTERVAL",
    "RP_TIMER",
    "FAST_RECOVERY_TIMES",
    "RATE_AI",
    "RATE_HAI",
    "RATE_DECREASE_INTERVAL",
    "MI_THRESH",
    "FAST_REACT",
    "U_TARGET",
    "INT_MULTI",
    "MULTI_RATE",
    "SAMPLE_FEEDBACK",
    "PINT_LOG_BASE",
    "PINT_PROB",
}
"""rdma-hw.cc reads them in modes other than 8."""
OFF = {"ERROR_RATE_PER_LINK": 1, "ACK_HIGH_PRIO": 1, "LINK_DOWN": 3}
"""They change nothing where their values, so many, are 0."""
MODES = {1: "DCQCN", 3: "HPCC", 7: "TIMELY", DCTCP: "DCTCP", 10: "HPCC-PINT"}


@dataclass(frozen=True)
class Config:
    """A configuration file."""

    file: Path
    lines: dict[str, Line]
    payload: int
    stop_ps: int
    gain: float
    buffer_mib: int
    segments_per_ack: int
    marks: bool
    thresholds: dict[str, dict[int, Decimal]]
    notes: list[str]

    def path(self, key: str) -> Path:
        """A file that it names, from its own folder or the one above, where HPCC is run."""
        line = self.lines[key]
        places = [folder / line.words[1] for folder in (self.file.parent, self.file.parent.parent)]
        found = next((place for place in places if is_file(place)), None)
        if found is None:
            raise line.error(f"there is no file {places[0]}, nor {places[1]}", "mend the path")
        return found

    def marker(self, rate: int) -> dict[str, Any]:
        """The marker of ports of this rate: on leaving, by what stays in the queue (switch-node.cc)."""
        values = []
        for key in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP"):
            if rate not in self.thresholds[key]:
                raise self.lines[key].error(
                    f"nothing for links of {rate} bit/s", "HPCC needs an entry for the rate of every link"
                )
            values.append(self.thresholds[key][rate])
        kmin, kmax, pmax = values
        if kmin > kmax:
            message = f"links of {rate} bit/s have KMIN {kmin} above KMAX {kmax}"
            raise self.lines["KMIN_MAP"].error(message, "KMIN is at most KMAX")
        if kmin == kmax:
            return {"kind": "threshold", "k": f"{kmin}KB", "at": "dequeue"}
        if not 0 < pmax <= 1:
            raise self.lines["PMAX_MAP"].error(f"a probability of {pmax}", "above 0, at most 1")
        return {
            "kind": "red",
            "kmin": f"{kmin}KB",
            "kmax": f"{kmax}KB",
            "pmax": float(pmax),
            "at": "dequeue",
        }


def read_config(path: Path, ignored: Sequence[str] = ()) -> Config:
    """Read a configuration; every key that would be ignored is named, unless it is in `ignored`."""
    lines: dict[str, Line] = {}
    for line in read_lines(path, comment="#"):
        key = line.words[0]
        if key in lines:
            raise line.error(
                f"{key} is given again, first in line {lines[key].number}", "keep one of the two"
            )
        lines[key] = line
    if unknown := [key for key in ignored if key not in lines]:
        raise ShallowsError(f"{path} has no key {unknown[0]} to ignore", "leave out this --ignore")
    lines = {key: line for key, line in lines.items() if key not in ignored}
    _refuse_unmapped(path, lines, ignored)
    for key in ("TOPOLOGY_FILE", "FLOW_FILE"):
        if key not in lines:
            raise ShallowsError(f"{path} has no {key}", f"add a line {key} FILE")
        lines[key].expect(2, f"{key} FILE")
    marks = _one(lines, "ENABLE_QCN", 1, 0, 1) == 1
    payload = _one(lines, "PACKET_PAYLOAD_SIZE", 1_000, 100, 9_000)
    every = _one(lines, "L2_ACK_INTERVAL", 1, 1, 1 << 40)
    return Config(
        file=path,
        lines=lines,
        payload=payload,
        stop_ps=_stop(lines),
        gain=_gain(path, lines, ignored),
        # third.cc: times 1024 · 1024.
        buffer_mib=_one(lines, "BUFFER_SIZE", 16, 1, 1 << 20),
        # rdma-hw.cc: an acknowledgement for each so many bytes.
        segments_per_ack=max(1, -(-every // payload)),
        marks=marks,
        thresholds=_thresholds(path, lines) if marks else {},
        notes=_notes(lines, ignored),
    )


def _one(lines: dict[str, Line], key: str, default: int, least: int, most: int) -> int:
    """The whole number of a key; its default is that of third.cc."""
    if key not in lines:
        return default
    lines[key].expect(2, f"{key} NUMBER")
    return lines[key].whole(key, lines[key].words[1], least, most)


def _stop(lines: dict[str, Line]) -> int:
    if "SIMULATOR_STOP_TIME" not in lines:
        return 301 * PS_PER_S // 100
    line = lines["SIMULATOR_STOP_TIME"]
    line.expect(2, "SIMULATOR_STOP_TIME SECONDS")
    stop = line.picoseconds("the stop time", line.words[1], PS_PER_S)
    if stop == 0:
        raise line.error("the run would end before it begins", "write a time above 0")
    return stop


def _gain(path: Path, lines: dict[str, Line], ignored: Sequence[str]) -> float:
    """DCTCP's g; HPCC's own default is 0, by the division of two integers."""
    if "EWMA_GAIN" not in lines:
        if "EWMA_GAIN" in ignored or "CC_MODE" in ignored:
            return 0.0625
        raise ShallowsError(f"{path} has no EWMA_GAIN", "add a line such as EWMA_GAIN 0.0625 (DCTCP's g)")
    line = lines["EWMA_GAIN"]
    line.expect(2, "EWMA_GAIN NUMBER")
    gain = float(line.decimal("EWMA_GAIN", line.words[1]))
    if not 0 < gain <= 1:
        raise line.error(f"a gain of {line.words[1]}", "DCTCP's g is above 0 and at most 1, usually 0.0625")
    return gain


def _refuse_unmapped(path: Path, lines: dict[str, Line], ignored: Sequence[str]) -> None:
    """Raise if a key has an effect in HPCC that would be lost, naming all of them with their lines."""
    mode = _one(lines, "CC_MODE", 1, 0, 100)
    lost: dict[str, str] = {}
    if mode != DCTCP and "CC_MODE" not in ignored:
        name = MODES.get(mode, "unknown")
        if "CC_MODE" not in lines:
            raise ShallowsError(
                f"{path} has no CC_MODE, which makes it 1, DCQCN; only 8, DCTCP, is modelled", "add CC_MODE 8"
            )
        lost["CC_MODE"] = f"congestion control {mode} ({name}) is not modelled; 8 (DCTCP) is"
    understood = MAPPED | OUTPUT | UNREAD | (OTHER_MODES if mode == DCTCP else set())
    for key, line in lines.items():
        if key not in understood and not _is_off(key, line):
            lost[key] = "it has no counterpart in a scenario and would be ignored"
    if lost:
        texts = [f"{path}:{lines[key].number}: {key}: {why}" for key, why in lost.items()]
        options = " ".join(f"--ignore {key}" for key in lost)
        raise ShallowsError("\n".join(texts), f"take out what you can do without, or say so: {options}")


def _is_off(key: str, line: Line) -> bool:
    """Whether a key of `OFF` is off, however its zeros are written."""
    values = line.words[1:]
    return OFF.get(key) == len(values) and all(not value.strip("0.") for value in values)


def _thresholds(path: Path, lines: dict[str, Line]) -> dict[str, dict[int, Decimal]]:
    """Of each map, the values by rate: kilobytes, kilobytes, and a probability."""
    maps: dict[str, dict[int, Decimal]] = {}
    for key in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP"):
        if key not in lines:
            raise ShallowsError(
                f"{path} has no {key}", f"add a line {key} COUNT RATE VALUE …, or ENABLE_QCN 0"
            )
        line = lines[key]
        form = f"{key} COUNT RATE VALUE RATE VALUE …"
        if len(line.words) < 2:
            line.expect(4, form)
        count = line.whole("the count", line.words[1], 1, 1_000)
        line.expect(2 + 2 * count, form)
        rates = [line.whole("the rate", word, 1) for word in line.words[2::2]]
        values = [line.decimal("the value", word) for word in line.words[3::2]]
        if len(set(rates)) < len(rates):
            raise line.error("a rate has two values", "give one for each")
        if key != "PMAX_MAP":
            # switch-mmu.cc: times 1000.
            values = [Decimal(line.whole("the threshold", word, 0, 10**9)) for word in line.words[3::2]]
        maps[key] = dict(zip(rates, values, strict=True))
    return maps


def _notes(lines: dict[str, Line], ignored: Sequence[str]) -> list[str]:
    """What became of the keys that have no place in the scenario."""
    reasons = [
        (OUTPUT, "they say what HPCC writes"),
        (UNREAD, "HPCC takes them from its topology file"),
        (OTHER_MODES, "HPCC does not read them under CC_MODE 8"),
        (set(OFF), "they are off"),
    ]
    notes = []
    for keys, why in reasons:
        if found := sorted(keys & lines.keys()):
            notes.append(f"{', '.join(found)}: no part of the scenario; {why}")
    if ignored:
        notes.append(f"{', '.join(ignored)}: ignored, as asked")
    return notes
