"""Lines that a reader did not understand, and whether they could change a conclusion about a queue.

The conclusion "nothing marks" requires that every line about marking was understood. A line is classified
by its words, and concerns the ports and the queue of its section.
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
        # Any unknown qdisc of Linux may mark, as codel, cake, pie, choke, gred, sfq and dualpi2 can.
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
"""Pairs of a topic and a pattern of its words; the first pattern that matches a line gives its topic."""


def topic(source: Source) -> Topic | None:
    """Return the topic that the words of a line indicate.

    >>> topic(Source(text="random-detect threshold burst-optimized ecn")), topic(Source(text="mtu 9216"))
    ('marking', None)
    """
    return next((name for name, words in _WORDS if words.search(f"{source.place} {source.text}")), None)


class Unread:
    """Lines on given topics that were not understood, grouped by the ports and queues they may concern."""

    def __init__(self, sources: Iterable[Source], *topics: Topic) -> None:
        self._first: dict[Scope, Source] = {}
        for source in sources:
            if topic(source) in topics:
                self._first.setdefault(source.scope, source)
        self._ports = {scope.port for scope in self._first if scope.port}

    def about(self, profile: PortProfile, queue: int) -> Source | None:
        """Return the first unread line that may affect a queue of the ports with this profile, or None."""
        if not self._first:
            return None
        places = [Scope(port=port) for port in profile.ports if port in self._ports]
        places += [Scope(), Scope(profile=profile.name or "")]
        scopes = [each for place in places for each in (place, replace(place, queue=queue))]
        return next((self._first[scope] for scope in scopes if scope in self._first), None)

    def beside(self, profiles: Iterable[PortProfile]) -> dict[str, Source]:
        """Return the first unread line about each port outside these profiles, by port."""
        known = {port for profile in profiles for port in profile.ports}
        return {
            scope.port: source
            for scope, source in self._first.items()
            if scope.port and scope.port not in known
        }


def cited(source: Source) -> str:
    """Cite a line that was not understood, at the end of a sentence.

    >>> cited(Source("leaf.cfg", "12", "afd queue-desired 150 kbytes"))
    'leaf.cfg:12 was not understood: "afd queue-desired 150 kbytes"'
    """
    return f'{source} was not understood: "{source.text}"'
