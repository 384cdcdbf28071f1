"""Configurations as lines that each set one thing, and the smallest change from one to another.

Whatever the syntax, a writer says of each line where it stands, what it replaces there, and what takes it
back. A change is then what differs, and its inverse the change the other way.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from shallows.advisor.configuration import Maps, PortProfile, Queue, Switch, Threshold


@dataclass(frozen=True)
class Line:
    """One thing that a switch is told."""

    slot: str
    """What it sets: another line with this slot in the same sections takes its place."""

    text: str
    undo: str
    """The line that takes it back."""

    sections: tuple[str, ...] = ()
    about: str = field(default="", compare=False)
    """The marking, pool, setting or profile of the model that it is of."""


@dataclass(frozen=True)
class Text:
    """What to enter, and what takes it back; nothing of it is ever sent anywhere."""

    change: str
    rollback: str
    inexpressible: tuple[str, ...] = ()
    """What the switch is to be told and this format cannot say, one sentence each."""


@dataclass
class Told:
    """The lines of a switch, in an order in which they can be entered, and what cannot be said."""

    lines: list[Line] = field(default_factory=list)
    inexpressible: dict[str, None] = field(default_factory=dict)
    """What cannot be said, in order."""

    _said: dict[tuple[tuple[str, ...], str], str] = field(default_factory=dict)

    def say(self, text: str, *sections: str, slot: str = "", undo: str = "", about: str = "") -> None:
        """A line; without a slot it is its own, and without an undo it is taken back by `no`.

        Of two lines for one slot the last holds; that ports or queues differ where the format has one place
        for them is said.
        """
        if self._said.setdefault((sections, slot or text), text) != text:
            place = " ".join((*sections, slot))
            self.cannot(f"{place}: what is told differs and has one place here; the last of it is written")
        self.lines.append(Line(slot or text, text, undo or f"no {slot or text}", sections, about))

    def cannot(self, what: str) -> None:
        """Something that this format has no words for; said once."""
        self.inexpressible[what] = None


Reasons = Mapping[str, str]
"""Why, in a sentence, by the name of the marking, pool, setting or profile that changes."""

NO_REASONS: Reasons = {}


def changed(before: Sequence[Line], after: Sequence[Line]) -> list[Line]:
    """What takes back what is said no more, last first, and then what is new or differs, in its order.

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
    """The change from what a switch is told to what it shall be told, and its inverse."""
    told = tell(after)
    old = tell(before).lines if before else []
    change, back = changed(old, told.lines), changed(told.lines, old)
    return Text(render(change, reasons), render(back, NO_REASONS), tuple(told.inexpressible))


def commented(lines: Iterable[Line], reasons: Reasons, comment: str) -> Iterable[tuple[Line, list[str]]]:
    """Lines, each with the comments to put before it: each reason once, where it first counts."""
    said: set[str] = set()
    for line in lines:
        reason = reasons.get(line.about, "") if line.about not in said else ""
        said.add(line.about)
        yield line, [f"{comment} {' '.join(part.split())}" for part in reason.splitlines() if part.strip()]


def flat(comment: str) -> Callable[[Sequence[Line], Reasons], str]:
    """Lines without sections as text."""

    def render(lines: Sequence[Line], reasons: Reasons) -> str:
        rows = [row for line, why in commented(lines, reasons, comment) for row in (*why, line.text)]
        return "\n".join(rows) + "\n" if rows else ""

    return render


def whole_percent(share: Fraction | None) -> int | None:
    """A probability in whole percent, if it is one.

    >>> whole_percent(Fraction(1, 20)), whole_percent(Fraction(1, 300))
    (5, None)
    """
    return int(share * 100) if share is not None and (share * 100).denominator == 1 else None


def in_bytes(size: Threshold | None) -> int | None:
    """Whole bytes, if it is given in bytes."""
    return int(size.amount) if size and size.unit == "bytes" and size.amount.denominator == 1 else None


def common_maps(switch: Switch, told: Told) -> Maps:
    """The maps of the first ports; that others have their own is said."""
    found = [profile.maps for profile in switch.profiles]
    if any(maps != found[0] for maps in found):
        told.cannot("ports with maps of their own: those of the first are written for all")
    return found[0] if found else Maps()


def gigabits(profile: PortProfile, unit: str, told: Told) -> str | None:
    """The rate of ports in whole Gb/s; that it is none is said."""
    if profile.rate is None:
        return None
    if profile.rate % 10**9:
        told.cannot(f"speed of {called(profile)}: {profile.rate:,} bit/s, which are no whole Gb/s")
        return None
    return f"{profile.rate // 10**9}{unit}"


def called(profile: PortProfile) -> str:
    """A profile by its name or its first ports."""
    return profile.name or (", ".join(profile.ports[:2]) or "all ports")


def at(profile: PortProfile, queue: Queue) -> str:
    """A queue in a sentence."""
    return f"queue {queue.number} of {called(profile)}"
