"""Live page of a running testbed network: queues, marks and drops."""

from collections.abc import Sequence

from shallows.quantity import digits
from shallows.reports.chart import Axis, Chart, Line
from shallows.reports.html import Block, Section
from shallows.reports.page import Live, chart, render, table
from shallows.runs.standing import EVERY_S, KEPT, State, Watch
from shallows.runs.table import Table

SILENT_S = 2.0
"""Time without a new state after which the page shows a warning."""

MOST_LINES = 8
"""Maximum number of ports in the chart: the number of colours."""

LIVE = Live(every_ms=1000, gone="The network has gone: its shell has ended.")


class Page:
    """Page of a running network; a port keeps its colour as long as it is drawn."""

    def __init__(self, name: str, watch: Watch) -> None:
        self.name, self.watch = name, watch
        self.looks: dict[str, int] = {}

    def at(self, path: str) -> str | None:
        """Return the page at a path; None for any path but `/`."""
        return self._now() if path == "/" else None

    def _now(self) -> str:
        states = list(self.watch.states)
        return render(
            title=self.name,
            kind="Network, live",
            subtitle=_stood(states),
            sections=[
                Section("Clock", self._clock(states)),
                Section("Queues", self._queues(states)),
                Section("Ports", [table(_ports(states[-1]))] if states else []),
            ],
            live=LIVE,
        )

    def _clock(self, states: Sequence[State]) -> list[Block]:
        blocks = []
        if self.watch.silent_s > SILENT_S:
            silent = f"Nothing has been heard of the switch for {self.watch.silent_s:.0f} s."
            blocks = [Block("warning", silent)]
        if states:
            complaints = [f"Invalid run: {text}" for text in states[-1].complaints]
            blocks += [Block("warning", text) for text in complaints]
            blocks.append(Block("note", f"{states[-1].health.capitalize()}."))
        return blocks

    def _queues(self, states: Sequence[State]) -> list[Block]:
        if len(states) < 2:
            return [Block("note", "Nothing was shown yet.")]
        highest: dict[str, int] = {}
        for state in states:
            for port in state.ports:
                highest[port.name] = max(port.backlog, highest.get(port.name, 0))
        used = sorted((name for name in highest if highest[name]), key=lambda name: -highest[name])
        if not used:
            return [Block("note", "Nothing waits at any port, and nothing did in the last minute.")]
        return [chart(self._backlogs(states, used))]

    def _backlogs(self, states: Sequence[State], used: Sequence[str]) -> Chart:
        """Return a chart of the longest queues; `used` lists the ports, with the longest queue first."""
        chosen = {*used[:MOST_LINES]}
        drawn = [port.name for port in states[-1].ports if port.name in chosen]
        self.looks = {name: look for name, look in self.looks.items() if name in drawn}
        free = iter(sorted({*range(MOST_LINES)} - {*self.looks.values()}))
        self.looks |= {name: next(free) for name in drawn if name not in self.looks}
        note = [f"Read {1 / EVERY_S:.0f} times a second: what a queue does in between is not seen."]
        if len(used) > len(drawn):
            note.append(f"Of {len(used)} ports with queues, those with the {len(drawn)} longest are drawn.")
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in drawn}
        for state in states:
            backlogs = {port.name: port.backlog for port in state.ports}
            for name, points in found.items():
                points.append((state.time_s, backlogs.get(name, 0) / 1000))
        return Chart(
            name="backlog",
            title=f"What waits at {drawn[0] if len(drawn) == 1 else 'ports'}",
            kind="steps",
            x=Axis("time of the network (s)", "s", start=states[0].time_s),
            y=Axis("backlog (KB)", "KB"),
            lines=[Line(name, self.looks[name], points) for name, points in found.items()],
            note=" ".join(note),
            most=KEPT,
        )


def _stood(states: Sequence[State]) -> str:
    if not states:
        return "It does not stand yet."
    return f"It has stood for {digits(states[-1].time_s)} s of the network's time."


def _ports(state: State) -> Table:
    rows = [
        [port.name, *(f"{number:,}" for number in (port.backlog, port.sent, port.marked, port.dropped))]
        for port in state.ports
    ]
    return Table("", ["port", "backlog B", "sent", "marked", "dropped"], rows)
