"""Names of metrics and their parts; this is the only parser of such names.

A name is `KIND.WORD.WORD@WHERE`, such as `fct_us.small.p99@group=old`. docs/results.md lists the kinds.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, Self

from shallows.errors import UnknownMetric, listed
from shallows.quantity import parse_quantity
from shallows.series import percentiles
from shallows.series.offered import Offered

TOTALS = ("goodput_gbps", "loss_rate_in_switches", "loss_rate_in_nics")
"""Names of the metrics of whole runs that comparisons use."""

PAUSES = ("pauses", "paused_us")
"""Names of the metrics of whole runs that comparisons use if a class is lossless."""

PER_FLOW = "timeouts_per_flow"

GROUPS: tuple[Literal["group"], Literal["to_group"]] = ("group", "to_group")
"""Columns of `flows.parquet` with the groups of senders and receivers, if hosts are in groups."""

MOST_WORKLOADS, MOST_CLASSES = 1 << 16, 64

MOST_STEPS = 1_000_000
"""Maximum number of time slices into which a metric may divide a run."""


@dataclass(frozen=True)
class Metric:
    """Parsed name of a metric.

    Examples
    --------
    >>> metric = Metric("fct_us.small.p99.9@2..5")
    >>> metric.kind, metric.words, metric.where
    ('fct_us', ['small', 'p99.9'], '2..5')
    """

    name: str

    @property
    def head(self) -> str:
        """Name of the metric without the place after the `@`."""
        return self.name.partition("@")[0]

    @property
    def where(self) -> str:
        """Place, flow or time after the `@`; empty for a whole run."""
        return self.name.partition("@")[2]

    @property
    def is_placed(self) -> bool:
        """Whether the name has a place, flow or time."""
        return "@" in self.name

    @property
    def kind(self) -> str:
        """First word of the name, such as `fct_us`."""
        return percentiles.words(self.head)[0]

    @property
    def words(self) -> list[str]:
        """Words of the name after its kind."""
        return percentiles.words(self.head)[1:]

    @property
    def flows(self) -> "Flows | None":
        """Flows that the name selects; None for a whole run.

        Raises
        ------
        ShallowsError
            If the text after the `@` selects no flows.
        """
        try:
            return Flows.parse(self.where) if self.is_placed else None
        except UnknownMetric as unknown:
            raise unknown.of(self.name) from None

    def check_flows(self, offered: Offered) -> None:
        """Reject a metric of flows that no run of the scenario has.

        Raises
        ------
        ShallowsError
            If the scenario has no such flows, or the text after the `@` selects none.
        """
        try:
            if flows := self.flows:
                flows.check(offered)
        except UnknownMetric as unknown:
            raise unknown.of(self.name) from None

    def at(self, where: str) -> "Metric":
        """Return this metric for the flows that `where` selects; for all flows if `where` is empty."""
        return Metric(f"{self.head}@{where}" if where else self.head)

    def summarised(self, statistic: str) -> "Metric":
        """Return the metric that summarises these observations by a statistic.

        >>> Metric("fct_us.small@0").summarised("p99").name
        'fct_us.small.p99@0'
        """
        return Metric(f"{self.head}.{statistic}").at(self.where)

    @property
    def series(self) -> str:
        """Name of the series of observations that the metric summarises, such as `fct_us.small@0`."""
        *rest, last = [self.kind, *self.words]
        series = ".".join(rest) if last in {"mean", "p99"} and rest else self.head
        return Metric(series).at(self.where).name

    @property
    def is_percentile(self) -> bool:
        """Whether the metric is the 99th percentile of its observations; otherwise it is their mean."""
        return self.words[-1:] == ["p99"]

    @property
    def is_total(self) -> bool:
        """Whether the metric exists for whole runs only."""
        return self.name in (*TOTALS, *PAUSES)

    @property
    def is_loss(self) -> bool:
        """Whether the metric is a share of packets."""
        return self.kind.startswith("loss_rate")

    @property
    def is_relative(self) -> bool:
        """Whether values are compared by ratio; false for metrics that are often zero."""
        return not self.is_loss and self.kind not in (PER_FLOW, *PAUSES)

    @property
    def is_better_high(self) -> bool:
        """Whether higher values are better."""
        return self.name == "goodput_gbps"

    @property
    def title(self) -> str:
        """Title of the metric in tables and figures.

        >>> Metric("fct_us.0_to_1000.p99@2").title, Metric("slowdown.all.mean@to_group=old").title
        ('FCT 0 to 1000 p99, workload 2', 'slowdown all mean, to group old')
        """
        kind = {
            "fct_us": "FCT",
            "query_us": "query time",
            "goodput_gbps": "goodput",
            "loss_rate_in_switches": "loss in switches",
            "loss_rate_in_nics": "loss in hosts' NICs",
            "paused_us": "time paused",
        }.get(self.kind, self.kind.replace("_", " "))
        words = self.words[-1:] if self.kind == "query_us" else self.words
        said = " ".join([kind, *(word.replace("_", " ") for word in words)])
        return f"{said}, {flows.title}" if (flows := self.flows) else said


def one_of(words: Collection[str], allowed: Collection[str], what: str) -> str:
    """Return the single word of `words` if it is allowed.

    Raises
    ------
    UnknownMetric
        If there is no word, a wrong word, or several.
    """
    word = ".".join(words)
    if word not in allowed:
        raise UnknownMetric(f"unknown {what} {word!r}", listed("allowed words are", sorted(allowed)))
    return word


def duration_us(text: str) -> float:
    """Parse a time above zero; return it in µs.

    >>> duration_us("10ms"), duration_us("0.5s")
    (10000.0, 500000.0)

    Raises
    ------
    UnknownMetric
        If the text is not a time above zero.
    """
    try:
        quantity = parse_quantity(text)
    except ValueError:
        quantity = None
    if quantity is None or quantity.of != "seconds" or quantity.number <= 0:
        raise UnknownMetric(f"{text!r} is not a time above 0", "write a time with its unit, such as 50ms")
    return float(1_000_000 * quantity.number)


def refuse_after_end(begin_us: float, offered: Offered, text: str) -> None:
    """Reject a time after the end of the run.

    Raises
    ------
    UnknownMetric
        If the scenario's run ends before this time.
    """
    if offered.end_us is not None and begin_us > offered.end_us:
        raise UnknownMetric(
            f"{text} is after the end of the run",
            f"name a time up to stop.at = {offered.end_us / 1e3:g} ms",
        )


@dataclass(frozen=True)
class Flows:
    """Selection of flows by their workload, class of service, or group of sending or receiving hosts."""

    text: str
    key: Literal["workload", "class", "group", "to_group"]
    """Column of `flows.parquet`."""
    places: tuple[range, ...] = ()
    """Numbers of workloads, in the scenario's order, or of classes."""
    group: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the text after the `@`.

        >>> Flows.parse("0").places, Flows.parse("2..5").places, Flows.parse("0, 3").values
        ((range(0, 1),), (range(2, 5),), [0, 3])
        >>> Flows.parse("class1").key, Flows.parse("to_group=old").group
        ('class', 'old')

        Raises
        ------
        UnknownMetric
            If the text selects no flows.
        """
        key, equals, group = text.partition("=")
        if equals:
            for known in GROUPS:
                if key == known and group:
                    return cls(text, known, group=group)
            raise _no_flows(text)
        numbers = text.removeprefix("class")
        of_class = numbers != text
        most = MOST_CLASSES if of_class else MOST_WORKLOADS
        places = []
        for part in numbers.split(","):
            found = re.fullmatch(r" *([0-9]{1,5})(?:\.\.([0-9]{1,5}))? *", part)
            if found is None:
                raise _no_flows(text)
            place = range(int(found[1]), int(found[2]) if found[2] else int(found[1]) + 1)
            if not place or place[-1] >= most:
                raise _no_flows(text)
            places.append(place)
        return cls(text, "class" if of_class else "workload", tuple(places))

    @property
    def values(self) -> list[int] | list[str]:
        """Selected workloads, classes or groups: the values to find in column `key`."""
        return [self.group] if self.group else [each for place in self.places for each in place]

    @property
    def title(self) -> str:
        """Selection in words: `workload 2..5`, `class 1`, `to group old`."""
        return f"{self.key.replace('_', ' ')} {self.group or self.text.removeprefix('class')}"

    def check(self, offered: Offered) -> None:
        """Reject flows that no run of the scenario has.

        Raises
        ------
        UnknownMetric
            If the scenario has no such flows.
        """
        if self.group and self.group not in offered.groups:
            remedy = (
                listed("the groups are", offered.groups) if offered.groups else "add [[host.group]] tables"
            )
            raise UnknownMetric(f"no host is in group {self.group!r}", remedy)
        for place in self.places:
            if self.key == "class":
                if offered.classes is not None and not offered.classes & set(place):
                    raise UnknownMetric(
                        f"no workload sends flows of {self.text!r}",
                        listed("the classes are", sorted(offered.classes)),
                    )
            elif place[-1] >= len(offered.workloads) or not any(map(offered.sends_flows, place)):
                sending = [each for each in range(len(offered.workloads)) if offered.sends_flows(each)]
                raise UnknownMetric(
                    f"workload {place[-1]} does not exist or sends no flows",
                    listed("the workloads that send flows are, in the order of the scenario", sending),
                )


def _no_flows(text: str) -> UnknownMetric:
    return UnknownMetric(
        f"{text!r} does not select flows",
        "write workloads as 0, 2..5 or 0, 3, a class as class1, a group as group=NAME or to_group=NAME",
    )


@dataclass(frozen=True)
class Host:
    """A host, given by its number. Its metrics cover the data that it receives."""

    number: int

    def check(self, offered: Offered) -> None:
        """Reject a host that the network does not have."""
        hosts = len(offered.network.hosts)
        if self.number >= hosts:
            raise UnknownMetric(f"unknown host {self.number}", f"the hosts are 0 to {hosts - 1}")


def host_or_flows(text: str) -> Host | Flows:
    """Parse the number of a host, a class or a group."""
    if re.fullmatch("[0-9]{1,9}", text):
        return Host(int(text))
    flows = Flows.parse(text)
    if flows.key == "workload":
        raise UnknownMetric(
            f"{text!r} is not a host, a class or a group",
            "write one host as its number, a class as class1, a group as group=NAME",
        )
    return flows


@dataclass(frozen=True)
class Pair:
    """Two hosts, classes or groups to compare."""

    first: Host | Flows
    second: Host | Flows

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a pair, written as `ONE/OTHER`."""
        first, slash, second = text.partition("/")
        if not slash:
            raise UnknownMetric(f"{text!r} is not a pair", "write two hosts, classes or groups as ONE/OTHER")
        return cls(host_or_flows(first), host_or_flows(second))

    def check(self, offered: Offered) -> None:
        """Reject hosts, classes or groups that the scenario does not have."""
        self.first.check(offered)
        self.second.check(offered)


@dataclass(frozen=True)
class Port:
    """A port by name, as in `counters.parquet`."""

    name: str

    def check(self, offered: Offered) -> None:
        """Reject a port that the network does not have."""
        if self.name not in offered.network.ports:
            raise UnknownMetric(
                f"unknown port {self.name!r}", listed("the ports are", _like(self.name, offered))
            )


@dataclass(frozen=True)
class Recorded:
    """A port or pool with a recorded backlog; a metric ignores the backlog before `begin_us`."""

    name: str
    begin_us: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `PORT` or `PORT@10ms`."""
        name, at, begin = text.partition("@")
        return cls(name, duration_us(begin) if at else 0.0)

    def check(self, offered: Offered) -> None:
        """Reject a port or pool that does not exist, or is not recorded."""
        pool = self.name in offered.pools.values()
        if not pool:
            Port(self.name).check(offered)
        traced = any(
            offered.traces_port(port)
            for port, of in offered.pools.items()
            if (of if pool else port) == self.name
        )
        if not offered.samples_queues and not traced:
            raise UnknownMetric(
                f"the backlog of {self.name} is not recorded",
                f'set measure.sample_queues = "10us", or measure.traces = [{{ ports = ["{self.name}"] }}]',
            )
        refuse_after_end(self.begin_us, offered, f"{self.begin_us / 1e3:g} ms")


def _like(name: str, offered: Offered) -> list[str]:
    """Return the network's ports for an error message; ports of the node in `name` come first."""
    node = name.split("->")[0]
    return sorted(offered.network.ports, key=lambda port: port.split("->")[0] != node)


@dataclass(frozen=True)
class Traced:
    """A traced flow by number."""

    flow: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a flow's number."""
        if not re.fullmatch("[0-9]{1,9}", text):
            raise UnknownMetric(
                f"{text!r} is not the number of a flow",
                "write a number from the column `flow` in flows.parquet",
            )
        return cls(int(text))

    def check(self, offered: Offered) -> None:
        """Reject a flow that is not traced."""
        if not offered.may_trace_flow(self.flow):
            raise UnknownMetric(
                f"flow {self.flow} is not traced", f"set measure.flow_traces = [{{ flows = [{self.flow}] }}]"
            )


@dataclass(frozen=True)
class Window:
    """A length of time in a metric's name, such as `10ms`."""

    us: float
    text: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a time."""
        return cls(duration_us(text), text)

    def check(self, offered: Offered) -> None:
        """Reject a time that is longer than the run, or divides it into too many slices."""
        refuse_after_end(self.us, offered, self.text)
        if offered.end_us is not None:
            self.check_steps(offered.end_us)

    def check_steps(self, span_us: float) -> None:
        """Reject a division into too many slices.

        Raises
        ------
        UnknownMetric
            If there are more than `MOST_STEPS`.
        """
        if span_us / self.us > MOST_STEPS:
            raise UnknownMetric(
                f"slices of {self.text} divide {span_us / 1e3:g} ms into {span_us / self.us:.3g} parts; "
                f"at most {MOST_STEPS:,} are allowed",
                "use longer slices",
            )


@dataclass(frozen=True)
class Span:
    """A part of the run, written in seconds."""

    begin_us: float
    end_us: float

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a span in seconds, such as `12..14`.

        >>> Span.parse("0..0.5")
        Span(begin_us=0.0, end_us=500000.0)
        """
        number = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
        found = re.fullmatch(rf"({number})\.\.({number})", text)
        span = cls(float(found[1]) * 1e6, float(found[2]) * 1e6) if found else cls(0.0, 0.0)
        if span.begin_us >= span.end_us:
            raise UnknownMetric(
                f"{text!r} is not a span of time", "write two ascending times in seconds, such as 12..14"
            )
        return span

    def check_slices(self, slices: Window) -> None:
        """Reject slices that are longer than the span, or too numerous."""
        length = self.end_us - self.begin_us
        if slices.us > length:
            raise UnknownMetric(
                f"the slice {slices.text} is longer than the span of time", "name a shorter slice"
            )
        slices.check_steps(length)

    def check(self, offered: Offered) -> None:
        """Reject a span that ends after the run."""
        refuse_after_end(self.end_us, offered, f"{self.end_us / 1e6:g} s")
