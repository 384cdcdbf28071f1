"""HPCC's `config.txt`: values of the keys that a scenario uses; other keys are left out or rejected."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from shallows.bounded import is_file
from shallows.errors import ShallowsError
from shallows.foreign import hpcc_keys as keys
from shallows.foreign.ignoring import NOTHING, Ignored
from shallows.foreign.reading import PS_PER_S, Line

GAIN = 0.0625
"""Value of DCTCP's g if the file has none: RFC 8257 §4.2."""


@dataclass(frozen=True)
class Config:
    """A configuration file."""

    file: Path
    lines: dict[str, Line]
    root: Path | None
    payload: int
    stop_ps: int
    gain: float
    buffer: str
    segments_per_ack: int
    marks: bool
    thresholds: dict[str, dict[int, Decimal]]
    notes: list[str]

    def path(self, key: str) -> Path:
        """Return the path in a key, relative to `root` (default: this file's folder or its parent)."""
        line = self.lines[key]
        above = [self.file.parent, self.file.parent.parent]
        places = [folder / line.words[1] for folder in ([self.root] if self.root else above)]
        found = next((place for place in places if is_file(place)), None)
        if found is None:
            raise line.error(
                f"the file of {key} does not exist: {' or '.join(map(str, places))}",
                "correct the path, or name the folder in which HPCC is run: --root DIR",
            )
        return found

    def marker(self, rate: int) -> dict[str, Any]:
        """Return the marker of ports of this rate.

        It marks on dequeue, by the backlog that remains (switch-node.cc).
        """
        found = []
        for key in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP"):
            if rate not in self.thresholds[key]:
                raise self.lines[key].error(
                    f"{key} has no entry for links of {rate} bit/s",
                    f"add the rate and its value to {key}: HPCC needs an entry for the rate of every link",
                )
            found.append(self.thresholds[key][rate])
        kmin, kmax, pmax = found
        if kmin > kmax:
            raise self.lines["KMIN_MAP"].error(
                f"KMIN must be at most KMAX ({kmax}) for links of {rate} bit/s, got {kmin}",
                "lower KMIN or raise KMAX",
            )
        if kmin == kmax:
            return {"kind": "threshold", "k": f"{kmin}KB", "at": "dequeue"}
        if not 0 < pmax <= 1:
            raise self.lines["PMAX_MAP"].error(
                f"PMAX must be above 0 and at most 1 for links of {rate} bit/s, got {pmax}",
                "correct the probability",
            )
        return {
            "kind": "red",
            "kmin": f"{kmin}KB",
            "kmax": f"{kmax}KB",
            "pmax": float(pmax),
            "at": "dequeue",
        }


def read_config(path: Path, root: Path | None = None, ignored: Ignored = NOTHING) -> Config:
    """Read a configuration; keys without a counterpart are rejected, unless they are in `ignored`."""
    notes: list[str] = []
    lines = keys.read(path, notes)
    if unknown := [key for key in ignored.keys if key not in lines and key != "CC_MODE"]:
        raise ShallowsError(f"--ignore {unknown[0]}: {path} has no such key", "remove this option")
    mode = _one(lines, "CC_MODE", keys.DCQCN, 0, 100)
    of_hawkeye = sorted(keys.OF_HAWKEYE & lines.keys())
    lines = _without(path, lines, mode, ignored, notes)
    for key in ("TOPOLOGY_FILE", "FLOW_FILE"):
        if key not in lines:
            raise ShallowsError(f"{path}: {key} is missing", f"add the line `{key} FILE`")
    marks = _one(lines, "ENABLE_QCN", 1, 0, 1) == 1
    payload = _one(lines, "PACKET_PAYLOAD_SIZE", 1_000, 100, 9_000)
    every = _one(lines, "L2_ACK_INTERVAL", 1, 1, 1 << 40)
    return Config(
        file=path,
        lines=lines,
        root=root,
        payload=payload,
        stop_ps=_stop(lines),
        gain=_gain(path, lines, mode, ignored),
        buffer=_buffer(lines, of_hawkeye, notes),
        # rdma-hw.cc: one acknowledgement per L2_ACK_INTERVAL bytes.
        segments_per_ack=max(1, -(-every // payload)),
        marks=marks,
        thresholds=_thresholds(path, lines, notes) if marks else {},
        notes=notes,
    )


def _one(lines: dict[str, Line], key: str, default: int, least: int, most: int) -> int:
    """Return the whole number that a key has; `default` is the value in third.cc for a missing key."""
    if key not in lines:
        return default
    return lines[key].whole(key, lines[key].words[1], least, most)


def _without(
    path: Path, lines: dict[str, Line], mode: int, ignored: Ignored, notes: list[str]
) -> dict[str, Line]:
    """Return the lines that a scenario uses; note ignored lines, and reject all other lines in one error."""
    lost = {key: why for key, why in _unmodelled(lines, mode) if key not in ignored}
    if lost:
        texts = [f"{_place(path, lines, key)}: {key}: {why}" for key, why in lost.items()]
        raise ShallowsError(
            "\n".join(texts),
            "remove these keys from the file, or import without them: "
            "--ignore KEY for each, or --ignore-unmodelled",
        )
    left_out = dict.fromkeys([key for key, _ in _unmodelled(lines, mode)] + list(ignored.keys))
    if left_out:
        notes.append(f"left out on request: {', '.join(_said(key, lines, mode) for key in left_out)}")
    for names, why in _meaningless(lines, mode):
        if names:
            notes.append(f"keys without effect on the scenario ({why}): {', '.join(sorted(names))}")
    return {key: line for key, line in lines.items() if key not in left_out}


def _unmodelled(lines: dict[str, Line], mode: int) -> Iterator[tuple[str, str]]:
    """Yield keys with an effect in HPCC and no counterpart in scenarios, with the reason."""
    if mode != keys.DCTCP:
        name = keys.MODES.get(mode, "unknown")
        given = "" if "CC_MODE" in lines else ", which is the default,"
        yield "CC_MODE", f"congestion control {mode} ({name}){given} is not modelled; only 8 (DCTCP) is"
    silent = set().union(keys.MAPPED, *(names for names, _ in _meaningless(lines, mode)))
    for key, line in lines.items():
        if key == "LB_MODE" and key not in silent:
            yield key, f"load balancing {line.words[1]} is not modelled; only 0 (ECMP) is"
        elif key not in silent and not (key == "EWMA_GAIN" and mode == keys.DCTCP):
            reason = "no counterpart in a scenario" if key in keys.KNOWN else "unknown key"
            yield key, f"{reason}; the import would ignore it"


def _meaningless(lines: dict[str, Line], mode: int) -> list[tuple[set[str], str]]:
    """Return sets of keys that change no result, such as parameters of unused modes, each with the reason."""
    of_modes = set().union(*keys.OF_MODES.values())
    chosen = keys.OF_MODES[keys.DCTCP] if mode == keys.DCTCP else set()
    off = {key for key, count in keys.OFF.items() if key in lines and _zero(lines[key], count)}
    return [
        (keys.OUTPUT & lines.keys(), "HPCC's output and measurements"),
        (keys.UNREAD & lines.keys(), "HPCC reads these values from its topology file"),
        (
            (of_modes - chosen) & lines.keys(),
            "parameters of congestion controls that the scenario does not use",
        ),
        (keys.OF_CONWEAVE & lines.keys(), "parameters of ConWeave, LB_MODE 9"),
        (keys.SEEDS & lines.keys(), "seeds are given to `shallows run`"),
        (off, "switched off"),
    ]


def _zero(line: Line, count: int) -> bool:
    """Return whether all values are zero, in any notation."""
    return len(line.words) == 1 + count and all(not value.strip("0.") for value in line.words[1:])


def _place(path: Path, lines: dict[str, Line], key: str) -> str:
    return f"{path}:{lines[key].number}" if key in lines else str(path)


def _said(key: str, lines: dict[str, Line], mode: int) -> str:
    """Format a key with its value for a message."""
    said = " ".join(lines[key].words) if key in lines else f"{key} {mode}"
    if key == "CC_MODE":
        return f"{said} ({keys.MODES.get(mode, 'unknown')}; the scenario has DCTCP)"
    return said if len(said) <= 60 else f"{said[:60]}…"


def _stop(lines: dict[str, Line]) -> int:
    if "SIMULATOR_STOP_TIME" not in lines and "FLOWGEN_STOP_TIME" in lines:
        # ConWeave's network-load-balance.cc stops ten seconds after the last flow.
        line = lines["FLOWGEN_STOP_TIME"]
        return line.picoseconds("the stop time", line.words[1], PS_PER_S) + 10 * PS_PER_S
    if "SIMULATOR_STOP_TIME" not in lines:
        return 301 * PS_PER_S // 100
    line = lines["SIMULATOR_STOP_TIME"]
    stop = line.picoseconds("the stop time", line.words[1], PS_PER_S)
    if stop == 0:
        raise line.error("SIMULATOR_STOP_TIME must be above 0, got 0", "write the stop time in seconds")
    return stop


def _gain(path: Path, lines: dict[str, Line], mode: int, ignored: Ignored) -> float:
    """Return DCTCP's g.

    In modes other than DCTCP, EWMA_GAIN has another meaning. HPCC's default is 0, the result of an integer
    division.
    """
    if mode != keys.DCTCP or "EWMA_GAIN" in ignored.keys:
        return GAIN
    if "EWMA_GAIN" not in lines:
        raise ShallowsError(
            f"{path}: EWMA_GAIN is missing", "add a line such as EWMA_GAIN 0.0625 (DCTCP's g)"
        )
    line = lines["EWMA_GAIN"]
    gain = float(line.decimal("EWMA_GAIN", line.words[1]))
    if not 0 < gain <= 1:
        raise line.error(
            f"EWMA_GAIN (DCTCP's g) must be above 0 and at most 1, got {line.words[1]}",
            "correct the gain; 0.0625 is usual",
        )
    return gain


def _buffer(lines: dict[str, Line], of_hawkeye: list[str], notes: list[str]) -> str:
    # third.cc multiplies by 1024 · 1024; Hawkeye's multiplies by 1024.
    size = _one(lines, "BUFFER_SIZE", 16, 1, 1 << 20)
    if of_hawkeye:
        notes.append(
            f"BUFFER_SIZE is read in KiB ({size} KiB), because only Hawkeye's files have {of_hawkeye[0]}"
        )
        return f"{size}KiB"
    return f"{size}MiB"


def _thresholds(path: Path, lines: dict[str, Line], notes: list[str]) -> dict[str, dict[int, Decimal]]:
    """Return dicts from rates to values: KMIN_MAP and KMAX_MAP (kilobytes), and PMAX_MAP (probabilities)."""
    maps: dict[str, dict[int, Decimal]] = {}
    for key in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP"):
        if key not in lines:
            raise ShallowsError(
                f"{path}: {key} is missing",
                f"add the line `{key} COUNT RATE VALUE RATE VALUE`, or `ENABLE_QCN 0`",
            )
        line = lines[key]
        maps[key] = {}
        for word, value in zip(line.words[2::2], line.words[3::2], strict=True):
            rate = line.whole("the rate", word, 1)
            if rate in maps[key]:
                notes.append(
                    f"{path.name}:{line.number}: {key} repeats rate {rate}; the last value counts, as in HPCC"
                )
            # switch-mmu.cc multiplies thresholds by 1000.
            whole = key != "PMAX_MAP"
            maps[key][rate] = (
                Decimal(line.whole("the threshold", value, 0, 10**9))
                if whole
                else line.decimal("the value", value)
            )
    return maps
