"""Checks of all names that a writer takes from a file.

A valid name is one word of letters, digits and a few signs without special meaning on the target's command
line. No name can therefore end a command, start another, or become an option. A port with an invalid name is
left out. Other invalid names are left out or replaced if they come from another format. In the switch's own
format they are errors, because the change would refer to an object that does not exist.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from shallows.advisor.configuration import Allotment, Pool, PortProfile, Queue, Scheduler, Setting, Switch
from shallows.bounded import quoted
from shallows.errors import ShallowsError

LONGEST = 128
"""Longest name where the vendor publishes no limit: SONiC's limit for a port (sonic-port.yang)."""

LONGEST_DEVICE = 15
"""Longest port name on Linux and Cumulus Linux: IFNAMSIZ of linux/if.h without the final NUL."""

LONGEST_POLICY = 40
"""Longest name of a policy or class map (Cisco, Nexus 9000 NX-OS Quality of Service Configuration Guide)."""

SHOWN = 3
"""Maximum number of names that a message lists."""

_WORD = r"[A-Za-z0-9_][A-Za-z0-9_.:/@+%-]*"


@dataclass(frozen=True)
class Grammar:
    """Rules for the valid names of a format: for names of ports, and for all other names."""

    longest_port: int = LONGEST
    longest_name: int = LONGEST
    word: re.Pattern[str] = re.compile(_WORD, re.ASCII)

    def is_port(self, text: str) -> bool:
        """Return whether this is a valid port name."""
        return len(text) <= self.longest_port and self.word.fullmatch(text) is not None

    def is_name(self, text: str) -> bool:
        """Return whether this is a valid name of anything but a port."""
        return len(text) <= self.longest_name and self.word.fullmatch(text) is not None


GRAMMARS = {
    # Bars and commas separate parts of CONFIG_DB's keys; SONiC's YANG models allow few other signs.
    "sonic": Grammar(word=re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/@+-]*", re.ASCII)),
    "eos": Grammar(),
    "avd": Grammar(),
    # dev_valid_name of net/core/dev.c; NVUE's commands are shell words.
    "nvue": Grammar(longest_port=LONGEST_DEVICE),
    "nxos": Grammar(longest_name=LONGEST_POLICY),
    # `et-*` matches several ports, and `-` means no name; names with blanks would need quotation marks.
    "junos": Grammar(word=re.compile(r"-|[A-Za-z0-9_*][A-Za-z0-9_.:/@+%*-]*", re.ASCII)),
    # dev_valid_name of net/core/dev.c, restricted to characters without meaning in a shell.
    "tc": Grammar(longest_port=LONGEST_DEVICE),
}
"""Grammars by format."""

ALLOWED = "letters, digits and _ . : / @ + -, beginning with a letter, a digit or _"

_SEVERAL = {"headroom-pool": 2, "buffer-size": 2, "host.features": 4, "ingress": 3}
"""Number of words in values of several words, by the setting's name or the first part of the name."""


@dataclass
class Checked:
    """A switch in which all names are valid, and the parts that were left out."""

    switch: Switch
    said: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    """New names of markings."""


def checked(format_: str, switch: Switch) -> Checked:
    """Check a switch's names before they are written in `format_`.

    Raises
    ------
    ShallowsError
        If a name is invalid in the format that the switch was read from.
    """
    return _Check(format_, switch).switch()


def refuse_port(format_: str, name: str) -> None:
    """Reject a name that no port can have.

    Raises
    ------
    ShallowsError
        If the name is invalid.
    """
    if not GRAMMARS[format_].is_port(name):
        most = GRAMMARS[format_].longest_port
        raise ShallowsError(
            f"{quoted(name)} is not a valid port name", f"use at most {most} characters: {ALLOWED}"
        )


T = TypeVar("T", PortProfile, Queue, Scheduler, Allotment)


class _Check:
    def __init__(self, format_: str, switch: Switch) -> None:
        self.format, self.of = format_, switch
        self.grammar = GRAMMARS[format_]
        family = {"avd": "eos"}
        self.is_own = family.get(switch.format, switch.format) == family.get(format_, format_)
        self.said: dict[str, None] = {}

    def switch(self) -> Checked:
        of = self.of
        markings = self.renamed("marking", [each.name for each in of.markings])
        self.pools = self.renamed("pool", [each.name for each in of.pools])
        self.markings = markings
        profiles = [self.profile(each) for each in of.profiles]
        made = replace(
            of,
            profiles=tuple(each for each in profiles if each is not None),
            pools=tuple(map(self.pool, of.pools)),
            markings=tuple(replace(each, name=markings.get(each.name, each.name)) for each in of.markings),
            settings=tuple(self.settings()),
            allotments=tuple(map(self.allotment, of.allotments)),
            schedulers=tuple(self.called("scheduler", each) for each in of.schedulers),
        )
        return Checked(made, tuple(self.said), markings)

    def is_name(self, text: str) -> bool:
        """Return whether a name is valid; names of Junos or another format may have several words."""
        joined = not self.is_own or self.format == "junos"
        return all(map(self.grammar.is_name, text.split(" ") if joined else [text]))

    def say(self, what: str) -> None:
        self.said[what] = None

    def refuse(self, kind: str, name: str) -> None:
        """Reject an invalid name of the switch's own format: an error in the file, or an attack."""
        if self.is_own:
            most = self.grammar.longest_name
            raise ShallowsError(
                f"the name {quoted(name)} of a {kind} is invalid in {self.format}",
                f"use at most {most} characters: {ALLOWED}",
            )

    def renamed(self, kind: str, names: Iterable[str]) -> dict[str, str]:
        """Return replacements for invalid names."""
        taken = {*names}
        found: dict[str, str] = {}
        for name in taken:
            if not self.is_name(name):
                self.refuse(kind, name)
        for name in dict.fromkeys(names):
            if not self.is_name(name):
                number = len(found) + 1
                while f"{kind}-{number}" in taken:
                    number += 1
                found[name] = f"{kind}-{number}"
                taken.add(found[name])
                self.say(f"the name {quoted(name)} of a {kind}: it is {found[name]} here")
        return found

    def called(self, kind: str, each: T) -> T:
        """Return a part of a switch, without its name if it is invalid; the writer then generates a name."""
        if each.name is None or self.is_name(each.name):
            return each
        self.refuse(kind, each.name)
        self.say(f"the name {quoted(each.name)} of a {kind}")
        return replace(each, name=None)

    def profile(self, each: PortProfile) -> PortProfile | None:
        """Return a port profile; None if none of its ports has a valid name."""
        ports = tuple(port for port in each.ports if self.grammar.is_port(port))
        if len(ports) < len(each.ports):
            wrong = [port for port in each.ports if not self.grammar.is_port(port)]
            more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
            self.say(f"ports that cannot be called so: {', '.join(map(quoted, wrong[:SHOWN]))}{more}")
        if each.ports and not ports:
            return None  # a profile without ports would apply to all ports
        return replace(
            self.called("profile", each),
            ports=ports,
            queues=tuple(map(self.queue, each.queues)),
            groups=tuple(
                replace(group, allotment=self.allotment(group.allotment)) if group.allotment else group
                for group in each.groups
            ),
            limits=tuple(map(self.allotment, each.limits)),
        )

    def queue(self, each: Queue) -> Queue:
        return replace(
            self.called("class", each),
            scheduler=self.called("scheduler", each.scheduler) if each.scheduler else None,
            marking=self.meant(self.markings, each.marking),
            allotment=self.allotment(each.allotment) if each.allotment else None,
        )

    def allotment(self, each: Allotment) -> Allotment:
        return replace(self.called("buffer profile", each), pool=self.meant(self.pools, each.pool))

    def meant(self, renamed: Mapping[str, str], name: str | None) -> str | None:
        """Return the new name of a reference; None if the old name is invalid and has no replacement."""
        found = None if name is None else renamed.get(name, name)
        return found if found is not None and self.is_name(found) else None

    def pool(self, each: Pool) -> Pool:
        marking = self.meant(self.markings, each.marking)
        return replace(each, name=self.pools.get(each.name, each.name), marking=marking)

    def settings(self) -> Iterable[Setting]:
        """Yield settings of the switch's own format, if their words are valid."""
        foreign = dict.fromkeys(each.name for each in self.of.settings if not self.is_own)
        if foreign:
            names = ", ".join(name for name in foreign if self.grammar.is_name(name))
            self.say(f"settings that {self.of.format} alone has: {names}")
            return
        for each in self.of.settings:
            if self.is_setting(each):
                yield each
            else:
                self.say(f"{quoted(each.name)} = {quoted(each.value)}: it is not made of names and numbers")

    def is_setting(self, each: Setting) -> bool:
        parts = "," if self.format == "sonic" else "[ ,]"
        words = [word for text in (each.scope, each.value) if text for word in re.split(parts, text)]
        most = _SEVERAL.get(each.name, _SEVERAL.get(each.name.partition(".")[0], 1))
        return all(map(self.grammar.is_name, (each.name, *words))) and each.value.count(" ") < most
