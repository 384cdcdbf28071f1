"""Writers of vendors' configurations: the smallest change between two states of the vendor-neutral model.

A writer's module has one function, `write(before, after, reasons)`. It returns a `Text` with the change, its
rollback, and settings that the format lacks. To add a writer, extend `FORMATS` and `writer`.
"""

from dataclasses import replace
from typing import Protocol, cast

from shallows.advisor.configuration import Switch
from shallows.advisor.writers import names
from shallows.advisor.writers.lines import NO_REASONS, Reasons, Text
from shallows.errors import ShallowsError, listed

FORMATS = ("sonic", "eos", "avd", "nvue", "nxos", "junos", "tc")


class Writer(Protocol):
    """Interface of a writer's module."""

    def write(self, before: Switch | None, after: Switch, reasons: Reasons = NO_REASONS) -> Text:
        """Write the change from one configuration to another; without `before`, the whole configuration."""


def writer(name: str) -> Writer:
    """Return the writer of a format.

    Raises
    ------
    ShallowsError
        If the format is unknown.
    """
    if name not in FORMATS:
        raise ShallowsError(f"unknown format {name[:40]!r}", listed("the formats are", FORMATS))
    from shallows.advisor.writers import avd, eos, junos, nvue, nxos, sonic, tc

    modules = {"sonic": sonic, "eos": eos, "avd": avd, "nvue": nvue, "nxos": nxos, "junos": junos, "tc": tc}
    return cast(Writer, modules[name])


def write(name: str, before: Switch | None, after: Switch, reasons: Reasons = NO_REASONS) -> Text:
    """Write the change from one configuration to another in a format.

    Parameters
    ----------
    name
        Name of the format.
    before
        Configuration as read; None writes all of `after`, as for a translation.
    after
        Target configuration, with numbers that the chip supports (`chips`).
    reasons
        Dictionary that maps the name of a changed marking, pool, setting or profile, or a text such as
        `queue 3`, to the reason for the change. Formats with comments show it before the change.

    Raises
    ------
    ShallowsError
        If the format is unknown, or a name is invalid in the switch's own format.
    """
    made = writer(name)
    old, new = names.checked(name, before) if before else None, names.checked(name, after)
    whys = {new.renamed.get(about, about): why for about, why in reasons.items()}
    text = made.write(old.switch if old else None, new.switch, whys)
    return replace(text, inexpressible=(*new.said, *text.inexpressible))
