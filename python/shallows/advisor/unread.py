"""Lines that a reader did not understand: whether they could change what is concluded of a queue.

"Nothing marks" follows only if every line about marking was understood. A line is sorted by the words in it,
and belongs to the ports and the queue in whose section it stands.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from shallows.advisor.configuration import PortProfile, Scope, Source

Topic = Literal["marking", "dropping", "memory"]

_WORDS: tuple[tuple[Topic, re.Pattern[str]], ...] = (
    (
        "marking",
        # Each unknown qdisc of Linux may mark: codel, cake, pie, choke, gred, sfq and dualpi2 do.
        re.compile(
            r"(?<![a-z])(ecn|wred|red|afd|qdisc|ce_threshold)(?![a-z])|random[-_]detect|congestion[-_]control"
            r"|explicit-congestion|drop-profile",
            re.IGNORECASE,
        ),
    ),
    ("dropping", re.compile(r"(?<![a-z])(drop|discard)|tail-drop|queue-limit", re.IGNORECASE)),
    (
        "memory",
        re.compile(
            r"buffer|pool|threshold|alpha|headroom|reserved|(?<![a-z])(mmu|xoff|xon|pause)(?![a-z])|_th\b",
            re.IGNORECASE,
        ),
    ),
)
"""The first that fits a line is what it is about."""


def topic(source: Source) -> Topic | None:
    """What a line is about, by its words.

    >>> topic(Source(text="random-detect threshold burst-optimized ecn")), topic(Source(text="mtu 9216"))
    ('marking', None)
    """
    return next((name for name, words in _WORDS if words.search(f"{source.place} {source.text}")), None)


class Unread:
    """The lines about some topics that were not understood, by what they may concern."""

    def __init__(self, sources: Iterable[Source], *topics: Topic) -> None:
        self._first: dict[Scope, Source] = {}
        for source in sources:
            if topic(source) in topics:
                self._first.setdefault(source.scope, source)
        self._ports = {scope.port for scope in self._first if scope.port}

    def about(self, profile: PortProfile, queue: int) -> Source | None:
        """The first that may concern a queue of ports with this profile; nothing if none does."""
        if not self._first:
            return None
        places = [Scope(port=port) for port in profile.ports if port in self._ports]
        places += [Scope(), Scope(profile=profile.name or "")]
        scopes = [each for place in places for each in (place, replace(place, queue=queue))]
        return next((self._first[scope] for scope in scopes if scope in self._first), None)

    def beside(self, profiles: Iterable[PortProfile]) -> dict[str, Source]:
        """Those about ports that none of these profiles has, by port."""
        known = {port for profile in profiles for port in profile.ports}
        return {
            scope.port: source
            for scope, source in self._first.items()
            if scope.port and scope.port not in known
        }


def cited(source: Source) -> str:
    """A line that was not understood, as a sentence ends with it.

    >>> cited(Source("leaf.cfg", "12", "afd queue-desired 150 kbytes"))
    'leaf.cfg:12 was not understood: "afd queue-desired 150 kbytes"'
    """
    return f'{source} was not understood: "{source.text}"'
