"""Findings about a configuration, similar to a linter's, and helpers of the rules that yield them.

Each finding has a code, a place, an observation, a reason and a remedy. Rules use the model, the chip and the
fabric, never a vendor's syntax.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from shallows.advisor.configuration import Source
from shallows.advisor.resolved import Class, Resolved

Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""Severities, the gravest first."""


@dataclass(frozen=True)
class Finding:
    """One finding."""

    code: str
    severity: Severity
    what: str
    why: str
    fix: str
    citation: str
    source: Source = field(default=Source())
    """Position in the file."""

    def document(self) -> dict[str, str]:
        """Return the finding as a JSON object."""
        fields = ("code", "severity", "what", "why", "fix", "citation")
        return {name: getattr(self, name) for name in fields} | {
            "file": self.source.file,
            "place": self.source.place,
            "text": self.source.text,
        }


Rule = Callable[[Resolved], Iterator[Finding]]

DT = "Choudhury and Hahne, Dynamic Queue Length Thresholds, IEEE/ACM ToN 6(2), 1998"


def queues(classes: Sequence[Class]) -> str:
    """Name queues by their numbers, for use in a sentence.

    >>> from shallows.advisor.configuration import Queue
    >>> queues([Class(Queue(n), (), None, None, None, None, None, None, None, None) for n in (0, 1, 4)])
    'queues 0, 1, 4'
    """
    numbers = sorted({each.queue.number for each in classes})
    return ("queues " if len(numbers) > 1 else "queue ") + ", ".join(map(str, numbers))


def together(classes: Sequence[Class], key: Callable[[Class], object] | None = None) -> list[list[Class]]:
    """Group classes with equal keys; by default, classes that differ only in queue numbers or ports."""
    found: dict[object, list[Class]] = {}
    for each in classes:
        found.setdefault(key(each) if key else _told(each), []).append(each)
    return list(found.values())


def _told(each: Class) -> object:
    lossless = each.queue.lossless
    hidden = (each.unread, each.unread_memory)
    return (each.marking, each.queue.allotment, lossless, each.rate, each.group_limit, each.limit, hidden)
