"""A fabric as its operator describes it: chip, links, classes, traffic and goals (docs/advisor.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from shallows.advisor import goals
from shallows.advisor.goals import Goal
from shallows.advisor.links import KEYS as LINKS
from shallows.advisor.links import Links, links_of
from shallows.advisor.lossless import KEYS as LOSSLESS
from shallows.advisor.lossless import Groups, groups_of
from shallows.advisor.reading import KEYS, REMEDY, Table, load
from shallows.advisor.rules import LAMBDA_DCTCP, LAMBDA_HALVING, bdp
from shallows.advisor.silicon import Silicon, silicon_of
from shallows.errors import ShallowsError

TRANSPORTS = {
    "dctcp": LAMBDA_DCTCP,
    "ecn-star": LAMBDA_HALVING,
    "cubic": (1 - 0.7) / 0.7,
    "reno": LAMBDA_HALVING,
}
"""Threshold that each transport needs to fill a link, as a share of the bandwidth-delay product."""

MARKS = ("queue", "pool", "sojourn", "mq-ecn")
"""Markers that a switch may support."""

MOST_HOSTS = 64
"""Maximum number of simulated hosts; more hosts would not change the behaviour at a port."""

FEWEST_FLOWS = 2_000
"""Default number of flows per run; three such runs give an interval for small flows' 99th percentile."""


@dataclass(frozen=True)
class Buffer:
    """Memory of one pool, and the rules by which its queues share it."""

    pool: float
    ports: int
    """Number of ports that share the pool."""
    reserved: float
    """Reserved buffer of each queue, in bytes."""
    alpha: float | None
    """Fixed α; None if the advisor chooses it."""


@dataclass(frozen=True)
class TrafficClass:
    """A class of service."""

    name: str
    share: float
    """Share of the fabric's load that the class carries."""
    weight: float
    """Weight of the class's queue in the round robin."""
    strict: bool
    """Whether the class's queue has strict priority over weighted queues."""
    transport: str
    sizes: object
    """Distribution of flow sizes, in the notation of scenarios."""
    queue: int
    """Number of the class's queue in the switch's configuration."""
    lossless: bool = False
    """Whether PFC pauses the senders of the class."""


@dataclass(frozen=True)
class Incast:
    """Simultaneous answers from many senders to one receiver, repeated periodically."""

    senders: int
    size: float
    every: float
    place: int
    """Index of the incast's class in `Fabric.classes`."""


@dataclass(frozen=True)
class Fabric:
    """A fabric as read from its file, with defaults filled in and all values validated."""

    name: str
    silicon: Silicon
    links: Links
    buffer: Buffer
    classes: tuple[TrafficClass, ...]
    loads: tuple[float, ...]
    """Loads in ascending order."""
    incast: Incast | None
    rto: float
    initial_window: int
    """Initial window in segments."""
    goals: tuple[Goal, ...]
    marks: tuple[str, ...]
    hosts: int
    """Number of simulated hosts, at one switch or at all leaves together."""
    flows: int
    """Number of flows per run, all classes together."""
    notes: tuple[str, ...] = ()
    """Assumptions about values that the file lacks."""
    every_second: str | None = None
    """Transport that half of the hosts (every second one) use instead of the classes' transports, if any."""
    groups: Groups = field(default=Groups())
    """Priority groups of lossless classes; `buffer.pool` is the shared memory that remains."""
    fixed: tuple[str, ...] = ()
    """Keys of `[lossless]` in the file, whose values candidates do not vary."""

    @property
    def lossless(self) -> tuple[int, ...]:
        """Return the indices of lossless classes in `classes`."""
        return tuple(place for place, each in enumerate(self.classes) if each.lossless)

    @property
    def has_lossy(self) -> bool:
        """Return whether some class is lossy."""
        return len(self.lossless) < len(self.classes)

    @property
    def pipe(self) -> float:
        """Return the bandwidth-delay product of a host's link in bytes."""
        return bdp(self.links.rate, self.links.rtt)

    @property
    def need(self) -> float:
        """Return the largest λ of the classes' transports; a transport needs a threshold K of λ BDPs."""
        return max(TRANSPORTS[each.transport] for each in self.classes)

    @property
    def window(self) -> float:
        """Return the bytes of a flow's initial window."""
        return float(self.initial_window * (self.links.mtu - 52))

    @classmethod
    def load(cls, path: str | Path) -> "Fabric":
        """Read a fabric's file.

        Raises
        ------
        ShallowsError
            If the file cannot be read, or a value is invalid.
        """
        return cls.from_dict(load(path), str(path))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], file: str = "fabric.toml") -> "Fabric":
        """Build a fabric from a dictionary with the content of its file.

        Raises
        ------
        ShallowsError
            If a value is invalid.
        """
        table = Table(file, document, KEYS)
        notes: list[str] = []
        if "chip" not in document:
            raise table.need("chip", "a name that `shallows chips` lists, or a table that describes a chip")
        links = links_of(Table(f"{file}: links", document.get("links", {}), LINKS))
        silicon = silicon_of(document["chip"], file, links.rate)
        of_buffer = buffer_table(file, document.get("buffer", {}))
        if "private" in document.get("buffer", {}):
            notes.append("buffer.private is now buffer.reserved; the next version rejects the old key.")
        buffer = _buffer(of_buffer, silicon, notes)
        classes = _classes(file, document.get("class", []), Path(file).parent)
        names = [each.name for each in classes]
        traffic = Table(f"{file}: traffic", document.get("traffic", {}), TRAFFIC)
        loads = _loads(traffic)
        rto, window = traffic.quantity("rto", "seconds", 5e-3), traffic.whole("initial_window", 1, 10_000, 10)
        if not 1e-6 <= rto <= 60:
            raise traffic.wrong("rto", "a timeout from 1us to 60s")
        incast = _incast(traffic, names)
        wanted = goals.parse(document.get("goal", goals.DEFAULT), names if len(names) > 1 else [])
        goals.refuse_impossible(wanted, links.rtt, loads)
        if incast is None and any(goal.metric.name.startswith("query_us") for goal in wanted):
            raise ShallowsError(
                f"{file}: goal: a goal for queries needs traffic with queries", "add traffic.incast"
            )
        simulated = Table(f"{file}: simulated", document.get("simulated", {}), SIMULATED)
        fewest = max(16, incast.senders + 1 if incast else 0)
        hosts = simulated.whole("hosts", 4, MOST_HOSTS, min(fewest, MOST_HOSTS))
        if incast and incast.senders >= hosts:
            raise traffic.wrong("incast", f"a table with fewer senders than the {hosts} simulated hosts")
        flows = simulated.whole("flows", 20, 10**7, FEWEST_FLOWS)
        marks = _marks(of_buffer, silicon)
        lossless = Table(f"{file}: lossless", document.get("lossless", {}), LOSSLESS)
        return cls(
            _name(table, Path(file).stem or "fabric"),
            silicon,
            links,
            buffer,
            classes,
            loads,
            incast,
            rto,
            window,
            tuple(wanted),
            marks,
            hosts,
            flows,
            tuple(notes),
            groups=groups_of(lossless),
            fixed=tuple(lossless.content),
        )

    def rounded(self, size: float) -> int:
        """Round a threshold to whole cells of the chip, at least one cell."""
        return max(1, round(size / self.silicon.cell)) * self.silicon.cell

    def probability(self, share: float) -> float:
        """Round a probability down to a value that the chip supports."""
        steps = [each for each in self.silicon.probabilities if each <= share + 1e-9]
        return max(steps) if steps else min(self.silicon.probabilities)

    def alphas(self) -> tuple[float, ...]:
        """Return the values of α to try: the one in the file, or all that the chip supports."""
        return self.silicon.alphas if self.buffer.alpha is None else (self.buffer.alpha,)

    def changed(self, **changes: Any) -> "Fabric":
        """Return a copy of the fabric in which the given fields have other values."""
        return replace(self, **changes)


LEAST_POOL, MOST_POOL = 10_000, 10**12
"""Smallest and largest pool in bytes."""

BUFFER = ("pool", "ports_per_pool", "reserved", "alpha", "marks")
TRAFFIC = ("load", "incast", "rto", "initial_window")
CLASS = ("name", "share", "weight", "strict", "transport", "sizes", "queue", "lossless")
SIMULATED = ("hosts", "flows")


def _name(table: Table, default: str) -> str:
    """Return the name of the fabric, which also names the results and their files."""
    name = table.text("name", default)
    if len(name) > 80 or not name.isprintable() or any(character in name for character in "/\\"):
        raise table.wrong(
            "name", "a name of at most 80 characters without control characters and path separators"
        )
    if name in (".", ".."):  # the engine rejects these names of scenarios
        raise table.wrong("name", "a name with at least one letter or digit")
    return name


def buffer_table(file: str, content: object) -> Table:
    """Return the `buffer` table of a fabric; its old key `private` is renamed to `reserved`.

    Raises
    ------
    ShallowsError
        If `buffer` is not a table, has an unknown key, or has both `private` and `reserved`.
    """
    if isinstance(content, Mapping) and "private" in content:
        if "reserved" in content:
            raise ShallowsError(
                f"{file}: buffer has both reserved and private, the old name of reserved", "remove private"
            )
        content = {"reserved" if key == "private" else key: value for key, value in content.items()}
    return Table(f"{file}: buffer", content, BUFFER)


def _buffer(table: Table, silicon: Silicon, notes: list[str]) -> Buffer:
    ports = table.whole("ports_per_pool", 1, 1024, max(1, silicon.ports // silicon.parts))
    pool = pool_of(table, silicon.memory / silicon.parts)
    if "pool" not in table.content:
        notes.append(
            f"All memory of the chip is shared: {pool / 1e6:.3g} MB for {ports} ports. What is reserved or "
            "headroom is not in a fabric's file: give buffer.pool."
        )
    reserved = table.quantity("reserved", "bytes", 0.0)
    alpha = table.number("alpha", 1 / 1024, 1024) if "alpha" in table.content else None
    return Buffer(pool, ports, reserved, alpha)


def pool_of(table: Table, default: float | None = None) -> float:
    """Return the bytes that queues can share.

    Raises
    ------
    ShallowsError
        If the size is missing and has no default, or is not from 10 KB to 1 TB.
    """
    pool = table.quantity("pool", "bytes", default)
    if not LEAST_POOL <= pool <= MOST_POOL:
        raise table.wrong("pool", "a size from 10KB to 1TB")
    return pool


def _marks(table: Table, silicon: Silicon) -> tuple[str, ...]:
    found = table.content.get("marks", list(silicon.marks))
    if not isinstance(found, list) or not found or not all(each in MARKS for each in found):
        raise table.wrong("marks", f"a list with at least one of {', '.join(MARKS)}")
    return tuple(each for each in MARKS if each in found)


def _classes(file: str, given: object, base: Path) -> tuple[TrafficClass, ...]:
    if not isinstance(given, list) or not given:
        raise ShallowsError(f"{file}: [[class]] is missing", f"describe each class of traffic; {REMEDY}")
    if len(given) > 8:
        raise ShallowsError(f"{file}: at most 8 [[class]] tables are allowed, got {len(given)}", REMEDY)
    found = [
        _class(Table(f"{file}: class {number}", each, CLASS), number, len(given), base)
        for number, each in enumerate(given)
    ]
    names = [each.name for each in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ShallowsError(f"{file}: two classes have the name {twice!r}", "give each class its own name")
    total = sum(each.share for each in found)
    if not 0.999 <= total <= 1.001:
        raise ShallowsError(f"{file}: the values of class.share must add up to 1, got {total:g}", REMEDY)
    queues = [each.queue for each in found]
    if len({*queues}) < len(queues):
        raise ShallowsError(f"{file}: two classes have the same queue", "give each class its own queue")
    if any(later.strict and not earlier.strict for earlier, later in pairwise(found)):
        raise ShallowsError(
            f"{file}: strict classes must come before weighted classes", "list the strict classes first"
        )
    return tuple(found)


RDMA = ("roce", "rdma", "dcqcn", "hpcc", "timely", "swift", "powertcp")
"""Transports of RDMA, which a fabric's file may not use; the error gives the reason."""


def _class(table: Table, number: int, count: int, base: Path) -> TrafficClass:
    if (transport := table.content.get("transport")) in RDMA:
        raise ShallowsError(
            f"{table.place}: `shallows advise` does not support transport {transport!r}: its rules for "
            "thresholds and their tests are for TCP, and queue pairs need other thresholds",
            f"choose one of {', '.join(TRANSPORTS)}, or compare settings for RoCE with `shallows sweep` "
            "(docs/rdma.md)",
        )
    sizes = table.content.get("sizes", "web-search")
    if not isinstance(sizes, str | dict):
        raise table.wrong("sizes", 'a distribution such as "web-search"')
    if isinstance(sizes, str) and sizes.endswith(".cdf"):
        sizes = str((base / sizes).resolve())
    return TrafficClass(
        table.text("name", "all" if count == 1 else None),
        table.number("share", 0.001, 1.0, 1.0 if count == 1 else None),
        table.number("weight", 0.001, 1e6, 1.0),
        table.flag("strict"),
        table.text("transport", "dctcp", tuple(TRANSPORTS)),
        sizes,
        table.whole("queue", 0, 15, number),
        table.flag("lossless"),
    )


def _loads(table: Table) -> tuple[float, ...]:
    given = table.content.get("load", [0.4, 0.8])
    loads = given if isinstance(given, list) else [given]
    if (
        not loads
        or len(loads) > 8
        or not all(
            isinstance(each, int | float) and not isinstance(each, bool) and 0 < each < 1 for each in loads
        )
    ):
        raise table.wrong("load", "a share between 0 and 1, such as 0.8, or a list of shares")
    return tuple(sorted({float(each) for each in loads}))


def _incast(table: Table, names: Sequence[str]) -> Incast | None:
    if "incast" not in table.content:
        return None
    inner = Table(f"{table.place}.incast", table.content["incast"], ("senders", "size", "every", "class"))
    size, every = inner.quantity("size", "bytes", 20_000.0), inner.quantity("every", "seconds", 1e-3)
    if not 1 <= size <= 1e9:
        raise inner.wrong("size", "a size from 1B to 1GB")
    if not 1e-6 <= every <= 10:
        raise inner.wrong("every", "a time from 1us to 10s")
    place = names.index(inner.text("class", names[0], names))
    return Incast(inner.whole("senders", 1, MOST_HOSTS - 1), size, every, place)
