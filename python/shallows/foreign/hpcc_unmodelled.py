"""Keys of HPCC's configuration that scenarios do not use: they are rejected, left out or without effect."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from shallows.errors import ShallowsError
from shallows.foreign import hpcc_keys as keys
from shallows.foreign.ignoring import Ignored
from shallows.foreign.reading import Line

PAYLOADS = (256, 4_096)
"""Smallest and largest `roce.mtu`."""


class _Switch(NamedTuple):
    """A key that is on or off; scenarios support only one of the two states."""

    modelled: bool
    default: bool
    """Value in third.cc for a missing key."""
    other: str
    """Meaning of the state that scenarios do not support."""
    modes: tuple[int, ...] = tuple(keys.OF_MODES)
    """Modes of congestion control in which the key has an effect."""


_POWER = (keys.POWERTCP, keys.THETA_POWERTCP)
_SWITCHES = {
    "L2_BACK_TO_ZERO": _Switch(False, False, "retransmission from the start of a chunk"),
    "RATE_BOUND": _Switch(True, True, "senders without a rate"),
    "HAS_WIN": _Switch(True, True, "no window", modes=(keys.HPCC, keys.DCTCP, keys.PINT, *_POWER)),
    "VAR_WIN": _Switch(True, False, "a fixed window of HPCC", modes=(keys.HPCC, keys.PINT, *_POWER)),
    "GLOBAL_T": _Switch(True, True, "a round-trip time for each pair of hosts"),
    "FAST_REACT": _Switch(True, True, "one update in a round-trip time", modes=(keys.HPCC, *_POWER)),
    "SAMPLE_FEEDBACK": _Switch(False, False, "no update while queues are empty", modes=_POWER),
}


def is_on(lines: dict[str, Line], key: str, *, default: bool) -> bool:
    """Return whether a key has a value other than 0."""
    return default if key not in lines else lines[key].whole(key, lines[key].words[1]) != 0


def _is_zero(line: Line, count: int) -> bool:
    """Return whether all values are zero, in any notation."""
    return len(line.words) == 1 + count and all(not value.strip("0.") for value in line.words[1:])


class Modes(NamedTuple):
    """Modes of congestion control of a file and of its scenario."""

    given: int
    chosen: int

    @property
    def keys(self) -> set[str]:
        """Keys of congestion controls that the scenario uses."""
        return keys.OF_MODES.get(self.chosen, set()) if self.given == self.chosen else set()


def without(
    path: Path, lines: dict[str, Line], modes: Modes, ignored: Ignored, notes: list[str]
) -> dict[str, Line]:
    """Return the lines that a scenario uses; report ignored lines, and reject all others in one error."""
    found = dict(_unmodelled(lines, modes))
    unknown = [key for key in ignored.keys if key not in lines and key not in found and key != "CC_MODE"]
    if unknown:
        raise ShallowsError(f"--ignore {unknown[0]}: {path} has no such key", "remove this option")
    lost = {key: why for key, why in found.items() if key not in ignored}
    if lost:
        texts = [f"{_place(path, lines, key)}: {key}: {why}" for key, why in lost.items()]
        raise ShallowsError(
            "\n".join(texts),
            "change or remove these keys, or import without them: "
            "--ignore KEY for each, or --ignore-unmodelled",
        )
    left_out = dict.fromkeys([*found, *ignored.keys])
    if left_out:
        notes.append(f"left out on request: {', '.join(_said(key, lines, modes) for key in left_out)}")
    for names, why in _meaningless(lines, modes):
        if names:
            notes.append(f"keys without effect on the scenario ({why}): {', '.join(sorted(names))}")
    others = _of_modes() - modes.keys
    return {key: line for key, line in lines.items() if key not in left_out and key not in others}


def _unmodelled(lines: dict[str, Line], modes: Modes) -> Iterator[tuple[str, str]]:
    """Yield keys with an effect in HPCC and no counterpart in scenarios, with the reason."""
    if modes.given not in keys.OF_MODES:
        only = ", ".join(f"{mode} ({name})" for mode, name in keys.MODES.items())
        yield "CC_MODE", f"congestion control {modes.given} is not modelled; only {only} are"
    yield from _switches(lines, modes.chosen)
    silent = set().union(keys.MAPPED, modes.keys, *(names for names, _ in _meaningless(lines, modes)))
    for key, line in lines.items():
        if key == "LB_MODE" and key not in silent:
            yield key, f"load balancing {line.words[1]} is not modelled; only 0 (ECMP) is"
        elif key in keys.OF_PFC_IN_CONWEAVE and key not in silent:
            yield key, "ConWeave's pauses are not modelled; those of the scenario are HPCC's"
        elif key == "PACKET_PAYLOAD_SIZE":
            size = line.whole(key, line.words[1])
            if not PAYLOADS[0] <= size <= PAYLOADS[1]:
                yield key, f"RDMA has packets with {PAYLOADS[0]} to {PAYLOADS[1]} bytes of data, got {size}"
        elif key == "RATE_HAI" and modes.chosen == keys.TIMELY and "RATE_AI" in lines:
            if line.rate(line.words[1]) != 5 * lines["RATE_AI"].rate(lines["RATE_AI"].words[1]):
                yield key, "TIMELY's hyperactive increase is 5 times RATE_AI; other values are not modelled"
        elif key not in silent:
            reason = "no counterpart in a scenario" if key in keys.KNOWN else "unknown key"
            yield key, f"{reason}; the import would ignore it"


def _switches(lines: dict[str, Line], mode: int) -> Iterator[tuple[str, str]]:
    has_window = mode in (keys.HPCC, keys.PINT, *_POWER) or is_on(lines, "HAS_WIN", default=True)
    for key, switch in _SWITCHES.items():
        value = is_on(lines, key, default=switch.default)
        matters = mode in switch.modes and (key != "GLOBAL_T" or has_window)
        if matters and value != switch.modelled:
            default = "" if key in lines else ", which is the default,"
            yield (
                key,
                f"{int(value)} ({switch.other}){default} is not modelled; only {int(switch.modelled)} is",
            )


def _meaningless(lines: dict[str, Line], modes: Modes) -> list[tuple[set[str], str]]:
    """Return sets of keys that change no result, such as parameters of unused modes, each with the reason."""
    is_conweaves = not keys.ONLY_CONWEAVE.isdisjoint(lines)
    is_lossless = is_on(lines, "ENABLE_PFC", default=True)
    unused = keys.UNUSED - (keys.OF_PFC_IN_CONWEAVE if is_conweaves and is_lossless else set())
    off = {key for key, count in keys.OFF.items() if key in lines and _is_zero(lines[key], count)}
    return [
        (keys.OUTPUT & lines.keys(), "HPCC's output and measurements"),
        (keys.UNREAD & lines.keys(), "HPCC reads these values from its topology file"),
        (
            (_of_modes() - modes.keys) & lines.keys(),
            "parameters of congestion controls that the scenario does not use",
        ),
        ({"INT_MULTI"} & modes.keys & lines.keys(), "telemetry is not rounded"),
        (unused & lines.keys(), "HPCC reads and does not use them"),
        (keys.OF_CONWEAVE & lines.keys(), "parameters of ConWeave, LB_MODE 9"),
        (keys.SEEDS & lines.keys(), "seeds are given to `shallows run`"),
        (off, "switched off"),
    ]


def _of_modes() -> set[str]:
    return set().union(*keys.OF_MODES.values())


def _place(path: Path, lines: dict[str, Line], key: str) -> str:
    return f"{path}:{lines[key].number}" if key in lines else str(path)


def _said(key: str, lines: dict[str, Line], modes: Modes) -> str:
    """Format a key with its value for a message."""
    if key == "CC_MODE":
        return f"CC_MODE {modes.given} ({keys.MODES.get(modes.given, 'unknown')}; the scenario has DCTCP)"
    said = " ".join(lines[key].words) if key in lines else f"{key} (its default)"
    return said if len(said) <= 60 else f"{said[:60]}…"
