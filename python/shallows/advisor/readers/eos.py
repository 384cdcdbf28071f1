"""Arista EOS: a running configuration with `qos profile`, MMU queue profiles and interfaces.

Syntax as in EOS's manual and the schema of pyavd 6.4. Segments are cells of the chip. Arista does not
document whether kbytes are 1000 or 1024 bytes: 1000 is assumed and reported. Class n uses queue n by default.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from shallows.advisor.chips import chip_of_platform
from shallows.advisor.configuration import (
    Allotment,
    Curve,
    Maps,
    Marking,
    Pool,
    PortProfile,
    PriorityGroup,
    Queue,
    Switch,
)
from shallows.advisor.readers.eos_statements import Memory, QueueSettings, RunningConfiguration, Section
from shallows.advisor.readers.reading import alike, lossless
from shallows.advisor.syntax import indented
from shallows.advisor.syntax.statements import Statement

FORMAT = "eos"
POOL = "global-buffer"
"""Name of the marking whose thresholds apply to the backlog of the whole memory."""

_TELLING = re.compile(
    r"^\s*(qos profile |platform trident mmu |qos random-detect ecn |(uc-|mc-)?tx-queue \d|service-profile "
    r"|qos map (dscp|traffic-class|cos) |priority-flow-control pause watchdog )|^! device: .*EOS",
    re.MULTILINE,
)
_DEVICE = re.compile(r"^! device: (\S{1,80}) \((\S{1,80}), ", re.MULTILINE)
"""EOS's header above its configuration: host name and model."""


def recognises(text: str, name: str) -> bool:  # noqa: ARG001 - the same for all readers
    """Return whether a text is a configuration of EOS with queues."""
    return _TELLING.search(text) is not None and not re.match(r"\s*[{\[]", text)


def read(text: str, name: str) -> Switch:
    """Read queues and buffers from a running configuration.

    Raises
    ------
    ShallowsError
        If the configuration is malformed.
    """
    switch = of_statements(indented.read(text, name), name, FORMAT)
    device = _DEVICE.search(text)
    if device is None:
        return switch
    known = chip_of_platform(device[2])
    hostname = switch.name or device[1]
    return replace(switch, name=hostname, platform=device[2], chip=known.name if known else None)


def of_statements(statements: Sequence[Statement], name: str, form: str) -> Switch:
    """Build a `Switch` from the lines of a running configuration."""
    running = RunningConfiguration(name)
    for statement in statements:
        running.take(statement)
    return _Builder(running).switch(form)


class _Builder:
    """Builds the switch that a running configuration describes."""

    def __init__(self, running: RunningConfiguration) -> None:
        self.running = running
        self.found = running.found
        self.made: dict[tuple[str, str, tuple[int, ...]], tuple[Queue, ...]] = {}
        """Queues already built, by profile, port (if it has its own settings) and paused priorities."""

    def switch(self, form: str) -> Switch:
        memory = self.running.allotments()
        maps = Maps(tuple(sorted(self.running.dscp.items())), tuple(sorted(self.running.to_queue.items())))
        groups = tuple(
            PriorityGroup(number, each)
            for number, each in sorted(memory.groups.items())
            if each != Allotment()
        )
        profiles = []
        by_profile: dict[str | None, dict[str, Section]] = {}
        for port, each in self.running.ports.items():
            by_profile.setdefault(each.profile, {})[port] = each
        for name, section in self.running.profiles.items():
            ported = by_profile.get(name, {})
            plain = {port: each for port, each in ported.items() if each.empty()}
            if not plain and (ported or not section.empty()):
                profiles.append(self.profile(name, "", section, Section(), memory, maps, groups))
            profiles += [
                self.profile(name, port, section, told, memory, maps, groups)
                for port, told in (plain | ported).items()
            ]
        for port, told in self.running.ports.items():
            if told.profile not in self.running.profiles and (told.profile or not told.empty()):
                profiles.append(self.profile(told.profile, port, Section(), told, memory, maps, groups))
        if not profiles and (memory.queues or groups or maps != Maps()):
            profiles = [self.profile(None, "", Section(), Section(), memory, maps, groups)]
        self.of_the_pool()
        markings, settings = self.found.in_order()
        return Switch(
            form,
            self.running.hostname,
            profiles=alike(profiles),
            pools=(Pool(POOL, marking=POOL),) if self.running.pool else (),
            markings=markings,
            settings=settings,
            defaults=tuple(self.found.defaults),
            unread=tuple(self.found.unread),
            understood=self.found.understood,
        )

    def of_the_pool(self) -> None:
        """Add the marking for the backlog of the whole memory, and apply `allow non-ect` to all markings."""
        if self.running.pool:
            low, high, source = self.running.pool
            curve = Curve(low, high, None, weight=None, source=source)
            self.found.markings[POOL] = Marking(POOL, (curve,), "pool", source)
        if ("not-ect.allowed", "") in self.found.settings:
            for name, marking in self.found.markings.items():
                curves = tuple(
                    replace(each, drops_not_ect=False) if each.marks_ect else each for each in marking.curves
                )
                self.found.markings[name] = replace(marking, curves=curves)

    def profile(
        self,
        name: str | None,
        port: str,
        section: Section,
        told: Section,
        memory: Memory,
        maps: Maps,
        groups: tuple[PriorityGroup, ...],
    ) -> PortProfile:
        """Build the profile of one port; its interface's settings override those of its `qos profile`."""
        pfc_on, pfc = (told.pfc_on, told.pfc) if told.pfc_on or told.pfc else (section.pfc_on, section.pfc)
        paused = tuple(sorted(pfc)) if pfc_on else ()
        key = (name or "", port if told.queues or not name else "", paused)
        if key not in self.made:
            queues = [
                self.queue(number, name or port, port, section, told, memory)
                for number in {*section.queues, *told.queues, *memory.queues}
            ]
            self.made[key] = lossless(queues, paused, maps)
        return PortProfile(
            (port,) if port else (),
            told.rate,
            self.made[key],
            groups,
            paused,
            maps,
            mtu=told.mtu,
            name=name,
            source=section.source,
        )

    def queue(
        self, number: int, name: str, port: str, section: Section, told: Section, memory: Memory
    ) -> Queue:
        common, own = section.queues.get(number, QueueSettings()), told.queues.get(number, QueueSettings())
        marking = None
        for where, each in ((name, common), (port, own)):
            curves = (*([each.mark] if each.mark else []), *(each.drops[key] for key in sorted(each.drops)))
            if curves:
                marking = f"{where}/{number}"
                self.found.markings[marking] = Marking(marking, curves, source=curves[0].source)
        chosen = own.scheduler() or common.scheduler()
        kind = (own if number in told.queues else common).kind
        return Queue(number, chosen, marking, memory.queues.get(number), name=kind, source=common.source)
