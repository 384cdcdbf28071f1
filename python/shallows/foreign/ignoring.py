"""What an import may leave out, because the user said so."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ignored:
    """What the user does without: keys by name, or whatever is not modelled.

    >>> "prio" in Ignored(["prio"]), "prio" in Ignored(), "prio" in Ignored(unmodelled=True)
    (True, False, True)
    """

    keys: Sequence[str] = ()
    """Of `--ignore`."""
    unmodelled: bool = False
    """Of `--ignore-unmodelled`."""

    def __contains__(self, key: str) -> bool:
        return self.unmodelled or key in self.keys


NOTHING = Ignored()


def listed(numbers: Sequence[int]) -> str:
    """Lines by their numbers, the first few.

    >>> listed([7]), listed([7, 8, 9]), listed([1, 2, 3, 5, 9])
    ('line 7', 'lines 7, 8, 9', 'lines 1, 2, 3 and 2 more')
    """
    shown = ", ".join(map(str, numbers[:3]))
    more = f" and {len(numbers) - 3} more" if len(numbers) > 3 else ""
    return f"line{'s' if len(numbers) > 1 else ''} {shown}{more}"
