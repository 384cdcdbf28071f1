"""Configurations as lines with one setting each, and the smallest change between two of them.

For each line, a writer defines the configuration sections that contain it, the key of its setting (the
slot), and the line that undoes it. A line replaces an earlier line with the same slot. A change is the
difference between two lists of lines, and its rollback is the reverse difference.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from shallows.advisor.configuration import Maps, PortProfile, Queue, Switch, Threshold


@dataclass(frozen=True)
class Line:
    """One line of a configuration."""

    slot: str
    """Key of the setting within its sections; a later line with the same slot replaces this line."""

    text: str
    undo: str
    """Text of the line that undoes this one."""

    sections: tuple[str, ...] = ()
    about: str = field(default="", compare=False)
    """Name of the marking, pool, setting or profile that the line expresses."""


@dataclass(frozen=True)
class Text:
    """Commands of a change and of its rollback; nothing is ever sent to a device."""

    change: str
    rollback: str
    inexpressible: tuple[str, ...] = ()
    """Settings that this format lacks, one sentence each."""


@dataclass
class Told:
    """Lines of a switch in a valid order, and settings that the format lacks."""

    lines: list[Line] = field(default_factory=list)
    inexpressible: dict[str, None] = field(default_factory=dict)
    """Settings that the format lacks, in order."""

    _said: dict[tuple[tuple[str, ...], str], str] = field(default_factory=dict)

    def say(self, text: str, *sections: str, slot: str = "", undo: str = "", about: str = "") -> None:
        """Add a line.

        `slot` is the key of the line's setting, by default the text. `undo` is the line that undoes this one,
        by default `no` with the slot. If several lines have one slot, the last one counts. Ports or queues
        with different texts for one slot are reported.
        """
        if self._said.setdefault((sections, slot or text), text) != text:
            place = " ".join((*sections, slot))
            self.cannot(
                f"{place}: ports or queues have different settings, but this format has one line for all; "
                "the last setting is written"
            )
        self.lines.append(Line(slot or text, text, undo or f"no {slot or text}", sections, about))

    def cannot(self, what: str) -> None:
        """Report, once, a setting that this format lacks."""
        self.inexpressible[what] = None


Reasons = Mapping[str, str]
"""Dictionary that maps the name of a changed marking, pool, setting or profile to the reason, a sentence."""

NO_REASONS: Reasons = {}


def changed(before: Sequence[Line], after: Sequence[Line]) -> list[Line]:
    """Return the lines that turn `before` into `after`.

    First comes a negation, such as `no kmin`, for each line that `after` lacks, in reverse order. New and
    changed lines follow in order.

    >>> low, high = (Line("kmin", f"kmin {size}", "no kmin") for size in (1, 2))
    >>> [line.text for line in changed([low], [high])], [line.text for line in changed([low], [])]
    (['kmin 2'], ['no kmin'])
    """
    old = {(line.sections, line.slot): line for line in before}
    new = {(line.sections, line.slot): line for line in after}
    gone = [line for key, line in reversed(old.items()) if key not in new]
    undone = [Line(line.slot, line.undo, line.text, line.sections, line.about) for line in gone]
    return undone + [line for key, line in new.items() if key not in old or old[key].text != line.text]


def difference(
    tell: Callable[[Switch], Told],
    render: Callable[[Sequence[Line], Reasons], str],
    before: Switch | None,
    after: Switch,
    reasons: Reasons = NO_REASONS,
) -> Text:
    """Write the change between two configurations, and its rollback."""
    told = tell(after)
    old = tell(before).lines if before else []
    change, back = changed(old, told.lines), changed(told.lines, old)
    return Text(render(change, reasons), render(back, NO_REASONS), tuple(told.inexpressible))


def commented(lines: Iterable[Line], reasons: Reasons, comment: str) -> Iterable[tuple[Line, list[str]]]:
    """Yield lines with their comments: each reason once, at the first line that has this reason."""
    said: set[str] = set()
    for line in lines:
        reason = reasons.get(line.about, "") if line.about not in said else ""
        said.add(line.about)
        yield line, [f"{comment} {' '.join(part.split())}" for part in reason.splitlines() if part.strip()]


def flat(comment: str) -> Callable[[Sequence[Line], Reasons], str]:
    """Return a function that formats lines without sections."""

    def render(lines: Sequence[Line], reasons: Reasons) -> str:
        rows = [row for line, why in commented(lines, reasons, comment) for row in (*why, line.text)]
        return "\n".join(rows) + "\n" if rows else ""

    return render


def whole_percent(share: Fraction | None) -> int | None:
    """Return a probability in percent, or `None` if it is no whole percentage.

    >>> whole_percent(Fraction(1, 20)), whole_percent(Fraction(1, 300))
    (5, None)
    """
    return int(share * 100) if share is not None and (share * 100).denominator == 1 else None


def in_bytes(size: Threshold | None) -> int | None:
    """Return a threshold as whole bytes; None if it is in another unit or not whole."""
    return int(size.amount) if size and size.unit == "bytes" and size.amount.denominator == 1 else None


def common_maps(switch: Switch, told: Told) -> Maps:
    """Return the first ports' maps to queues and priority groups; report differing maps of other ports."""
    found = [profile.maps for profile in switch.profiles]
    if any(maps != found[0] for maps in found):
        told.cannot("ports with maps of their own: those of the first are written for all")
    return found[0] if found else Maps()


def gigabits(profile: PortProfile, unit: str, told: Told) -> str | None:
    """Return the rate of ports as whole Gb/s; report a rate that is not whole."""
    if profile.rate is None:
        return None
    if profile.rate % 10**9:
        told.cannot(f"speed of {called(profile)}: {profile.rate:,} bit/s, which are no whole Gb/s")
        return None
    return f"{profile.rate // 10**9}{unit}"


def called(profile: PortProfile) -> str:
    """Return the name of a profile, or the names of its first ports."""
    return profile.name or (", ".join(profile.ports[:2]) or "all ports")


def at(profile: PortProfile, queue: Queue) -> str:
    """Return a queue's number and profile, for use in a sentence."""
    return f"queue {queue.number} of {called(profile)}"
