"""HPCC's `config.txt`: values of the keys that a scenario uses; other keys are left out or rejected."""

from dataclasses import dataclass
from pathlib import Path

from shallows.bounded import is_file
from shallows.errors import ShallowsError
from shallows.foreign import hpcc_keys as keys
from shallows.foreign.hpcc_unmodelled import PAYLOADS, Modes, is_on, without
from shallows.foreign.ignoring import NOTHING, Ignored
from shallows.foreign.reading import LATEST, PS_PER_S, Line

PS_PER_US = 10**6


FILES = {"TOPOLOGY_FILE": "topology", "FLOW_FILE": "flow"}
"""Dictionary that maps each key of an input file to its option."""


@dataclass(frozen=True)
class Arguments:
    """Settings that are not in the configuration: the working folder, and arguments of derived programs."""

    control: str | None = None
    """Congestion control, one of `hpcc_keys.CONTROLS`; None means that of `CC_MODE`."""
    root: Path | None = None
    """Folder that paths in the configuration are relative to; None means its folder or the parent."""
    topology: Path | None = None
    """Topology file; None means that of `TOPOLOGY_FILE`."""
    flow: Path | None = None
    """List of flows; None means that of `FLOW_FILE`."""


NO_ARGUMENTS = Arguments()


@dataclass(frozen=True)
class Config:
    """A configuration file."""

    file: Path
    lines: dict[str, Line]
    arguments: Arguments
    modes: Modes
    payload: int
    stop_ps: int
    buffer: str
    ignored: Ignored
    notes: list[str]

    def path(self, key: str) -> Path:
        """Return the path of an input file, from the command-line option or else from the key."""
        given: Path | None = getattr(self.arguments, FILES[key])
        if given is not None:
            return given
        line, root = self.lines[key], self.arguments.root
        above = [self.file.parent, self.file.parent.parent]
        places = [folder / line.words[1] for folder in ([root] if root else above)]
        found = next((place for place in places if is_file(place)), None)
        if found is None:
            raise line.error(
                f"the file of {key} does not exist: {' or '.join(map(str, places))}",
                f"correct the path, name the file: --{FILES[key]} FILE, or name the folder in which HPCC is "
                "run: --root DIR",
            )
        return found

    def is_on(self, key: str, *, default: bool) -> bool:
        """Return whether a key has a value other than 0; `default` is the value in third.cc."""
        return is_on(self.lines, key, default=default)

    def whole(self, key: str, default: int, least: int = 0, most: int = 2**31 - 1) -> int:
        """Return the whole number that a key has; `default` is the value in third.cc."""
        return _one(self.lines, key, default, least, most)

    def rate(self, key: str, default: int | None = None) -> int:
        """Return the rate that a key has, in bit/s; `default` is the value in third.cc, if it has one."""
        line = self._line(key, default, "50Mb/s")
        return default or 0 if line is None else line.rate(line.words[1])

    def microseconds(self, key: str, default: int | None = None) -> int:
        """Return a key's time in picoseconds, rounded down to whole microseconds as in ns-3."""
        line = self._line(key, default, "300")
        if line is None:
            return (default or 0) * PS_PER_US
        return line.picoseconds(key, line.words[1], PS_PER_US) // PS_PER_US * PS_PER_US

    def decimal(self, key: str, least: float, most: float, default: float) -> float:
        """Return the number from `least` to `most` that a key has; `default` is the value in third.cc."""
        line = self.lines.get(key)
        if line is None:
            return default
        value = float(line.decimal(key, line.words[1]))
        if not least <= value <= most:
            raise line.error(
                f"{key} must be from {least:g} to {most:g}, got {line.words[1]}", "correct the number"
            )
        return value

    def fraction(self, key: str, what: str, default: float | None = None) -> float:
        """Return the number in (0, 1] that a key has; `default` is the value in third.cc, if it has one."""
        line = self._line(key, default, "0.0625")
        if line is None:
            return default or 0.0
        value = float(line.decimal(key, line.words[1]))
        if not 0 < value <= 1:
            raise line.error(
                f"{key} ({what}) must be above 0 and at most 1, got {line.words[1]}", "correct the number"
            )
        return value

    def _line(self, key: str, default: float | None, example: str) -> Line | None:
        if key not in self.lines and default is None:
            raise ShallowsError(
                f"{self.file}: {key} is missing",
                f"add a line such as `{key} {example}`; third.cc has no usable default",
            )
        return self.lines.get(key)


def read_config(path: Path, ignored: Ignored = NOTHING, arguments: Arguments = NO_ARGUMENTS) -> Config:
    """Read a configuration; keys without a counterpart are rejected, unless they are in `ignored`."""
    notes: list[str] = []
    lines = keys.read(path, notes)
    modes = _modes(lines, ignored, arguments.control)
    if arguments.control is not None and "CC_MODE" in lines:
        notes.append(f"--control {arguments.control} replaces CC_MODE {lines['CC_MODE'].words[1]}")
    of_hawkeye = sorted(keys.OF_HAWKEYE & lines.keys())
    lines = without(path, lines, modes, ignored, notes)
    for key, option in FILES.items():
        if key not in lines and getattr(arguments, option) is None:
            remedy = f"add the line `{key} FILE`, or name the file: --{option} FILE"
            raise ShallowsError(f"{path}: {key} is missing", remedy)
    return Config(
        file=path,
        lines=lines,
        arguments=arguments,
        modes=modes,
        payload=_one(lines, "PACKET_PAYLOAD_SIZE", 1_000, *PAYLOADS),
        stop_ps=_stop(lines, notes),
        buffer=_buffer(lines, of_hawkeye, notes),
        ignored=ignored,
        notes=notes,
    )


def _modes(lines: dict[str, Line], ignored: Ignored, control: str | None) -> Modes:
    is_ignored = "CC_MODE" in ignored.keys
    if control is not None and is_ignored:
        raise ShallowsError(
            "--control replaces CC_MODE, so --ignore CC_MODE has no effect", "remove an option"
        )
    if control is not None and control not in keys.CONTROLS:
        raise ShallowsError(
            f"--control must be one of {', '.join(keys.CONTROLS)}, got {control}", "correct it"
        )
    if control is not None:
        return Modes(keys.CONTROLS[control], keys.CONTROLS[control])
    mode = _one(lines, "CC_MODE", keys.DCQCN, 0, 100)
    is_replaced = is_ignored or (ignored.unmodelled and mode not in keys.MODES)
    return Modes(mode, keys.DCTCP if is_replaced else mode)


def _one(lines: dict[str, Line], key: str, default: int, least: int, most: int) -> int:
    """Return the whole number that a key has; `default` is the value in third.cc for a missing key."""
    if key not in lines:
        return default
    return lines[key].whole(key, lines[key].words[1], least, most)


def _stop(lines: dict[str, Line], notes: list[str]) -> int:
    if "SIMULATOR_STOP_TIME" not in lines and "FLOWGEN_STOP_TIME" in lines:
        # ConWeave's network-load-balance.cc stops ten seconds after the last flow.
        line = lines["FLOWGEN_STOP_TIME"]
        return line.picoseconds("the stop time", line.words[1], PS_PER_S) + 10 * PS_PER_S
    if "SIMULATOR_STOP_TIME" not in lines:
        return 301 * PS_PER_S // 100
    line = lines["SIMULATOR_STOP_TIME"]
    if line.decimal("the stop time", line.words[1]) * PS_PER_S > LATEST:
        # SimAI.conf has 4 · 10¹³ s.
        notes.append(
            f"SIMULATOR_STOP_TIME {line.words[1]} is longer than a day; the scenario stops after a day"
        )
        return LATEST
    stop = line.picoseconds("the stop time", line.words[1], PS_PER_S)
    if stop == 0:
        raise line.error("SIMULATOR_STOP_TIME must be above 0, got 0", "write the stop time in seconds")
    return stop


def _buffer(lines: dict[str, Line], of_hawkeye: list[str], notes: list[str]) -> str:
    # third.cc multiplies by 1024 · 1024; Hawkeye's multiplies by 1024.
    size = _one(lines, "BUFFER_SIZE", 16, 1, 1 << 20)
    if of_hawkeye:
        notes.append(
            f"BUFFER_SIZE is read in KiB ({size} KiB), because only Hawkeye's files have {of_hawkeye[0]}"
        )
        return f"{size}KiB"
    return f"{size}MiB"
