"""Write the scenarios of this folder, with each scheme set by its own paper's rule.

The numbers come from the advisor's rules (`shallows.advisor.rules`), and each comment in a scenario shows the
formula and its source. A test compares the committed scenarios with what this script writes.

Usage: python experiments/one-fabric/make.py [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shallows.advisor import rules
from shallows.advisor.rules import Advice
from shallows.runs.toml_text import toml_value

LEAVES, SPINES, HOSTS_PER_LEAF, SERVICES = 8, 8, 16, 8
QUERY_LOAD = 0.05
"""Share of the uplinks that the answers to queries use."""

ANSWER = 64_000
DEGREE = 40
WARM_UP = 0.2
"""Share of the arrival time before flows count."""
SEEDS = [1, 2, 3, 4, 5]


@dataclass(frozen=True)
class Mix:
    """Two services with equal flow sizes: the distribution (a file or a built-in name) and the mean size."""

    name: str
    sizes: str
    mean: float


MIXES = (
    Mix("web search", "web-search-3mb.cdf", 819_583),
    Mix("cache", "cache-3mb.cdf", 650_453),
    Mix("Hadoop", "hadoop-3mb.cdf", 208_739),
    Mix("data mining", "data-mining-3mb.cdf", 260_567),
)

UNCUT = (
    Mix("web search", "web-search", 1_711_250),
    Mix("cache", "cache", 935_452.5),
    Mix("Hadoop", "hadoop", 4_135_297),
    Mix("data mining", "data-mining", 12_658_199),
)
"""The same services with flow sizes as published."""


@dataclass(frozen=True)
class Fabric:
    """A leaf-spine fabric of 128 hosts; `rtt` is its longest round-trip time without queues."""

    name: str
    rate: float
    mtu: int
    pool: int
    ports_per_pool: int
    reserved: int
    """Reserved bytes of a port, in equal parts for its queues."""
    flows: int
    """Flows of a run; they arrive in the same time for every service."""
    rtt: float = 80e-6
    mixes: tuple[Mix, ...] = MIXES

    @property
    def arrival_s(self) -> float:
        """Time until all flows of a run have arrived, at full load of the uplinks."""
        crossing = (LEAVES - 1) * HOSTS_PER_LEAF / (LEAVES * HOSTS_PER_LEAF - 1)
        uplinks = LEAVES * SPINES * self.rate
        share = sum(1 / each.mean for each in self.mixes)
        bits = self.flows / share * 8 * len(self.mixes)
        return bits * crossing / uplinks

    def flows_of(self, mix: Mix) -> int:
        """Return how many flows to draw from `mix`, so that all distributions offer the same load."""
        return round(self.flows / mix.mean / sum(1 / each.mean for each in self.mixes))

    @property
    def between_queries_s(self) -> float:
        """Mean time between queries at which their answers use the share `QUERY_LOAD` of the uplinks."""
        crossing = (LEAVES - 1) * HOSTS_PER_LEAF / (LEAVES * HOSTS_PER_LEAF - 1)
        return DEGREE * ANSWER * 8 * crossing / (QUERY_LOAD * LEAVES * SPINES * self.rate)

    def queries_at(self, load: float) -> int:
        """Return the number of queries that start while flows arrive."""
        return round(self.arrival_s / load / self.between_queries_s)


# BCC (INFOCOM '20) §V: pools of 3 MiB for eight ports and 128 KiB per port, as in Tomahawk.
FAST = Fabric("100g", 100e9, 9_000, 3 << 20, 8, 128 << 10, 16_000)
# BCC, Table I: 9 MB in a Trident+, shared by all ports.
SLOW = Fabric("10g", 10e9, 1_500, 9_000_000, 24, 0, 5_000)
SHORT = replace(FAST, flows=8_000)
"""Fabric of the sensitivity analyses and of the grid, with shorter runs."""

LONG = replace(FAST, flows=22_000, mixes=UNCUT)
"""Fabric of uncut flows, which arrive for eight times as long: the largest flow has 1 GB."""

ALPHA = 4.0
"""Alpha of Dynamic Threshold in BCC's simulations (§V)."""


@dataclass(frozen=True)
class Scheme:
    """A scheme: its name, the keys that it sets, and the derivation of its numbers."""

    name: str
    set: Mapping[str, Any]
    why: tuple[str, ...] = ()


def said(advice: Advice) -> str:
    """Return a comment with the formula of a rule, its inputs, its result and its source."""
    return f"{advice.formula} = {advice.text} ({advice.given}); {advice.source}"


def size(number: float) -> str:
    """Return a size rounded to whole bytes, as a string of a scenario such as `1500B`."""
    return f"{round(number)}B"


def pulser() -> dict[str, Any]:
    """Return Pulser with the DCTCP of Linux."""
    dctcp = {"g": 0.0625, "initial_alpha": 1.0, "window_end": "reached", "arithmetic": "segments"}
    return {"kind": "pulser", "dctcp": dctcp}


def schemes(fabric: Fabric, factor: float = 1.0) -> Iterator[Scheme]:
    """Yield all schemes, set by the rules of their papers, with main parameters multiplied by `factor`."""
    link, rtt = fabric.rate, fabric.rtt
    practice = rules.dctcp_practice(link, rtt)
    standard = factor * practice.number
    halving = rules.halving(link, rtt)
    careful = rules.conservative(
        fabric.pool, ALPHA, fabric.ports_per_pool, fabric.reserved, rules.LAMBDA_DCTCP
    )
    waits = rules.sojourn(rtt, practice.number / rules.bdp(link, rtt))
    threshold = {"kind": "threshold", "k": size(standard)}
    mq_ecn = {"kind": "mq-ecn", "k": size(standard)}
    bcc: dict[str, Any] = {"kind": "bcc"}
    if factor != 1:
        # BCC's own number is h, which spaces Kmin from Kmax.
        bcc["h"] = f"{round(8_000 * factor)}ns"
    ein = {"kind": "ein", "high_water": size(standard)}
    k = {"kind": "threshold", "k": size(practice.number)}
    alpha = {"switch.buffer.alpha": ALPHA * factor} if factor != 1 else {}
    none: dict[str, Any] = {"switch.markers": []}
    yield Scheme(
        "CUBIC", {"tcp.congestion": "cubic", **none, **alpha}, ("Linux' default; the switch only drops.",)
    )
    yield Scheme("NewReno", {"tcp.congestion": "reno", **none, **alpha}, ("The switch only drops.",))
    yield Scheme("DCTCP", {"switch.markers": [threshold]}, (said(practice),))
    yield Scheme(
        "DCTCP, conservative K",
        {"switch.markers": [{"kind": "threshold", "k": size(factor * careful.number)}]},
        (said(careful),),
    )
    yield Scheme(
        "DCTCP, K/8",
        {"switch.markers": [{**threshold, "split": "minimum"}]},
        ("K_i = K·w_i/Σw, the minimum threshold of MQ-ECN (NSDI '16) §2.",),
    )
    yield Scheme(
        "ECN*",
        {
            "tcp.congestion": "ecn-star",
            "switch.markers": [{"kind": "threshold", "k": size(factor * halving.number)}],
        },
        (said(halving),),
    )
    yield Scheme(
        "MQ-ECN",
        {"switch.markers": [mq_ecn]},
        ("K_i = min(quantum_i/T_round, C)·RTT·λ, β = 0.75; MQ-ECN (NSDI '16) Eq. 3. C·RTT·λ is DCTCP's K.",),
    )
    yield Scheme(
        "TCN",
        {"switch.markers": [{"kind": "tcn", "threshold": f"{round(factor * waits.number * 1e9)}ns"}]},
        (said(waits) + "; K/C",),
    )
    yield Scheme(
        "BCC",
        {"switch.markers": [k, bcc]},
        (
            "K as DCTCP; Kmax = B − B_R/α, Kmin = Kmax − C·N·h, B_R = C·RTT·(1 + λ) − S_min, h = 8 µs;",
            "BCC (INFOCOM '20) Eq. 2, 3, §IV-C. The engine computes and prints the numbers.",
        ),
    )
    yield Scheme("BCC + MQ-ECN", {"switch.markers": [mq_ecn, bcc if factor == 1 else {"kind": "bcc"}]})
    braking = {"tcp.congestion": pulser()}
    own = ein | ({"threshold": 0.25 * factor} if factor != 1 else {}) | {"high_water": k["k"]}
    yield Scheme(
        "Pulser on DCTCP",
        {**braking, "switch.markers": [k, own]},
        ("N = 50, threshold 0.25·C, cwnd_safe = 4 MSS, HighWaterMark = K; Pulser §III.",),
    )
    yield Scheme("Pulser on MQ-ECN", {**braking, "switch.markers": [{**mq_ecn, "k": k["k"]}, own]})
    yield Scheme("Pulser on BCC", {**braking, "switch.markers": [k, {"kind": "bcc"}, own]})
    yield hcf(fabric, factor)
    yield Scheme(
        "ICTCP",
        {
            "tcp.congestion": "reno",
            "tcp.receiver": {"kind": "ictcp", "share": min(0.9 * factor, 1.0)} if factor != 1 else "ictcp",
            **none,
        },
        ("γ1 = 0.1, γ2 = 0.5, at least 2 MSS, 0.9·C; ICTCP (CoNEXT '10) §4. Senders use NewReno.",),
    )
    yield red(fabric, factor)
    yield Scheme(
        "ABM",
        {
            "switch.buffer": {
                "kind": "abm",
                "alpha": 0.5 * factor,
                "pool": size(fabric.pool),
                "ports_per_pool": fabric.ports_per_pool,
                "reserved": size(fabric.reserved / SERVICES),
                "window": size(rules.bdp(link, rtt)),
            },
            "switch.markers": [k],
        },
        ("α = 0.5, drain rates over one RTT (C·RTT); ABM (SIGCOMM '22) §4. DCTCP with its K.",),
    )
    interval = 2 * rtt * factor
    yield Scheme(
        "CoDel",
        {
            "tcp.congestion": "ecn-star",
            "switch.markers": [
                {
                    "kind": "codel",
                    "target": f"{round(interval * 1e8)}ns",
                    "interval": f"{round(interval * 1e9)}ns",
                    "action": "mark",
                }
            ],
        },
        (
            "interval = longest RTT = base and a queue of C·RTT; target = interval / 10; RFC 8289 §4.3, 4.4.",
            "With ECN*, because CoDel expects a sender that halves.",
        ),
    )
    yield Scheme(
        "CUBIC beside DCTCP",
        {
            "host.group": [
                {
                    "name": "cubic",
                    "members": f"0..{LEAVES * HOSTS_PER_LEAF} step 2",
                    "tcp": {"congestion": "cubic"},
                }
            ],
            "switch.markers": [threshold],
        },
        ("Every other host sends with CUBIC, without ECN: above K the switch drops its packets.",),
    )


def hcf(fabric: Fabric, factor: float) -> Scheme:
    """Return HCF. All eight services share its two queues; other schemes have one queue for each service."""
    limit = fabric.pool / fabric.ports_per_pool + fabric.reserved
    port = {"kind": "hcf", "limit": size(limit), "bins": round(20 * factor), "credits": "1p"}
    return Scheme(
        "HCF",
        {"tcp.congestion": "reno", "switch.markers": [], "switch.port": port},
        (
            "HP = LP = B/2, K = 20 bins, c0 = 1 packet; HCF (2012) §3, 5.1. B is the memory of one port.",
            "On NewReno, as in the paper. HCF replaces the scheduler: services have no queues of their own.",
        ),
    )


def red(fabric: Fabric, factor: float) -> Scheme:
    """Return RED on the average queue, with ECN."""
    low = 50 * 1_500 * fabric.rate / 10e9 * factor
    marker = {
        "kind": "red-classic",
        "kmin": size(low),
        "kmax": size(3 * low),
        "pmax": 0.1,
        "weight": 1 / 512,
        "unit": "bytes",
    }
    return Scheme(
        "RED-ECN",
        {"tcp.congestion": {"kind": "reno", "ecn": True}, "switch.markers": [marker]},
        (
            "min 50 and max 150 packets at 10 Gb/s, in proportion to C; weight 2⁻⁹, max_p 0.1;",
            "DCTCP (SIGCOMM '10) §4.1, Fig. 15. NewReno with ECN.",
        ),
    )


SIX = ("CUBIC", "DCTCP", "MQ-ECN", "TCN", "BCC", "Pulser on DCTCP")
"""Schemes of the sensitivity analyses."""

HEAD = """\
# {title}
# Written by make.py.
name = "{name}"

[topology] # 2:1 oversubscribed; the base round-trip time between leaves is {rtt}
kind = "leaf-spine"
leaves = {leaves}
spines = {spines}
hosts_per_leaf = {hosts}
rate = "{rate}Gbps"
link_delay = "1us"
host_delay = "{host_delay}"
mtu = {mtu}

[switch] # eight services of equal weight
port = {{ kind = "dwrr", queues = {services}, quantum = "1p" }}
markers = [{{ kind = "threshold", k = "{k}" }}]

[switch.buffer] # {buffer_why}
kind = "dynamic-threshold"
alpha = {alpha}
pool = "{pool}B"
ports_per_pool = {ports_per_pool}
reserved = "{reserved}B" # of each queue

[tcp] # hosts are Linux 6, with the timers of BCC and MQ-ECN; in Linux a lost SYN costs 1 s
preset = "linux-6"
congestion = "dctcp"
rto = {{ initial = "5ms", min = "5ms" }}

[measure]
bins = ["100KB", "1MB"]
warm_up = "{warm_up}"
sample_queues = "{sampled}"
"""


def host_delay(fabric: Fabric) -> str:
    """Return the delay in a host: a quarter of the round-trip time that is not spent on the eight links."""
    return f"{round((fabric.rtt - 8e-6) / 4 * 1e6)}us"


def microseconds(seconds: float) -> str:
    """Return a time in whole microseconds."""
    return f"{round(seconds * 1e6)}us"


def head(fabric: Fabric, name: str, title: str, load: float) -> str:
    """Return the text of a scenario without its traffic and its sweep."""
    why = {
        "100g": "BCC (INFOCOM '20) §V, Tomahawk: 3 MiB for eight ports, 128 KiB per port; 5 KB per Gb/s",
        "10g": "BCC (INFOCOM '20) Table I: 9 MB of a Trident+; 38 KB per port and Gb/s",
    }[fabric.name]
    return HEAD.format(
        title=title,
        name=name,
        rtt=rules.seconds(fabric.rtt).replace("µ", "u"),
        leaves=LEAVES,
        spines=SPINES,
        hosts=HOSTS_PER_LEAF,
        rate=round(fabric.rate / 1e9),
        host_delay=host_delay(fabric),
        mtu=fabric.mtu,
        services=SERVICES,
        k=size(rules.dctcp_practice(fabric.rate, fabric.rtt).number),
        buffer_why=why,
        alpha=ALPHA,
        pool=fabric.pool,
        ports_per_pool=fabric.ports_per_pool,
        reserved=fabric.reserved // SERVICES,
        warm_up=microseconds(WARM_UP * fabric.arrival_s / load),
        sampled=microseconds(2e6 / fabric.rate),
    )


def traffic(fabric: Fabric, load: float, *, queries: bool) -> str:
    """Return the workloads: two services for each distribution, and queries."""
    parts = []
    for place, mix in enumerate(fabric.mixes):
        weights = [int(service // 2 == place) for service in range(SERVICES)]
        is_file = mix.sizes.endswith(".cdf")
        sizes = f'{{ kind = "file", path = "{mix.sizes}" }}' if is_file else f'"{mix.sizes}"'
        parts.append(
            f"\n[[workload]] # {mix.name}: services {2 * place} and {2 * place + 1}\n"
            f'kind = "poisson"\nload = {round(load / len(MIXES), 4)}\nof = "uplinks"\nsizes = {sizes}\n'
            f"flows = {fabric.flows_of(mix)}\n"
            f'class = {{ kind = "random", weights = {weights} }}\n'
        )
    if queries:
        parts.append(
            f"\n[[workload]] # queries of service 2: {QUERY_LOAD:.0%} of the uplinks\n"
            'kind = "partition-aggregate"\nclients = "all"\nasking = "drawn"\n'
            f'fan_out = {DEGREE}\nsize = "{ANSWER // 1000}KB"\nclass = 2\n'
            f'arrivals = {{ kind = "poisson", mean = "{round(fabric.between_queries_s * 1e9)}ns" }}\n'
            f"queries = {fabric.queries_at(load)}\n"
        )
    return "".join(parts)


def sweep_over_loads(fabric: Fabric, loads: tuple[float, ...], *, queries: bool) -> str:
    """Return the axes of loads and seeds; each load's warm-up is the share `WARM_UP` of its arrival time."""
    together: dict[str, list[Any]] = {
        "workload.0.load": [],
        "workload.1.load": [],
        "workload.2.load": [],
        "workload.3.load": [],
        "measure.warm_up": [],
    }
    if queries:
        together["workload.4.queries"] = []
    for load in loads:
        for place in range(len(MIXES)):
            together[f"workload.{place}.load"].append(round(load / len(MIXES), 4))
        together["measure.warm_up"].append(microseconds(WARM_UP * fabric.arrival_s / load))
        if queries:
            together["workload.4.queries"].append(fabric.queries_at(load))
    lines = "\n".join(f'"{key}" = {toml_value(kept)}' for key, kept in together.items())
    return f"\n[sweep]\naxes = {{ load = {list(loads)}, seed = {SEEDS} }}\n\n[sweep.together.load]\n{lines}\n"


def listed(chosen: list[Scheme]) -> str:
    """Return the schemes of a sweep, each with the derivation of its numbers."""
    parts = []
    for each in chosen:
        comments = "".join(f"# {line}\n" for line in each.why)
        keys = "\n".join(f'"{key}" = {toml_value(kept)}' for key, kept in each.set.items())
        parts.append(f'\n{comments}[[sweep.scheme]]\nname = "{each.name}"\n\n[sweep.scheme.set]\n{keys}\n')
    return "".join(parts)


def scenario(fabric: Fabric, name: str, title: str, load: float, *, queries: bool) -> str:
    """Return a scenario without its sweep."""
    return head(fabric, name, title, load) + traffic(fabric, load, queries=queries)


def six(fabric: Fabric) -> list[Scheme]:
    """Return the schemes of the sensitivity analyses."""
    return [each for each in schemes(fabric) if each.name in SIX]


AT = 0.7
"""Load of the sensitivity analyses."""

CASES: Mapping[str, Mapping[str, Any]] = {
    "base": {},
    "buffer of 2 KB": {"switch.buffer.pool": "1600KB", "switch.buffer.reserved": "0B"},
    "buffer of 40 KB": {"switch.buffer.pool": "30951424B"},
    "20 servers": {"workload.4.fan_out": 20},
    "80 servers": {"workload.4.fan_out": 80},
    "RTO of 1 ms": {"tcp.rto.min": "1ms"},
    "RTO of 200 ms": {"tcp.rto.min": "200ms"},
    "bursts of 32 KB": {"host.nic.tso": "32KB"},
    "bursts of 64 KB": {"host.nic.tso": "64KB"},
    "idealised hosts": {"tcp.preset": "rfc", "tcp.recovery": "sack", "tcp.delayed_ack.segments": 1},
    "paths of acks": {"switch.ecmp": "symmetric"},
    "alpha of 1": {"switch.buffer.alpha": 1.0},
    "twice the flows": {
        **{f"workload.{place}.flows": 2 * SHORT.flows_of(mix) for place, mix in enumerate(MIXES)},
        "workload.4.queries": 2 * SHORT.queries_at(AT),
    },
}
"""Changes of one thing at a time; buffers are per port and Gb/s, reserved bytes included."""


def cases() -> str:
    """Return the `[sweep]` tables with a case for each entry of `CASES`.

    Each case sets every key that any case changes.
    """
    base: dict[str, Any] = {
        "switch.buffer.pool": f"{FAST.pool}B",
        "switch.buffer.reserved": f"{FAST.reserved // SERVICES}B",
        "switch.buffer.alpha": ALPHA,
        "switch.ecmp": "five-tuple",
        "tcp.preset": "linux-6",
        "tcp.recovery": "rack",
        "tcp.delayed_ack.segments": 2,
        "tcp.rto.min": "5ms",
        "host.nic.tso": "off",
        "workload.4.fan_out": DEGREE,
        **{f"workload.{place}.flows": SHORT.flows_of(mix) for place, mix in enumerate(MIXES)},
        "workload.4.queries": SHORT.queries_at(AT),
    }
    lines = "\n".join(
        f'"{key}" = {toml_value([changed.get(key, value) for changed in CASES.values()])}'
        for key, value in base.items()
    )
    return (
        f"\n[sweep]\naxes = {{ case = {toml_value(list(CASES))}, seed = {SEEDS} }}\n\n"
        f"[sweep.together.case]\n{lines}\n"
    )


def files() -> dict[str, str]:
    """Return all scenarios by file name."""
    found = {}
    told = {"100g": "at 100 Gb/s with a shallow buffer", "10g": "at 10 Gb/s with 9 MB"}
    for fabric in (FAST, SLOW):
        name, every = f"mix-{fabric.name}", [*schemes(fabric)]
        title = (
            f"All schemes on 128 hosts {told[fabric.name]}: eight services with four flow size distributions."
        )
        axes = sweep_over_loads(fabric, (0.3, 0.5, 0.7, 0.9), queries=False)
        found[f"{name}.toml"] = scenario(fabric, name, title, 0.5, queries=False) + axes + listed(every)
        name = f"queries-{fabric.name}"
        answers = f"{DEGREE} servers answer each with {ANSWER // 1000} KB"
        title = f"The fabric of mix-{fabric.name}.toml with queries: {answers}."
        axes = sweep_over_loads(fabric, (0.3, 0.7), queries=True)
        found[f"{name}.toml"] = scenario(fabric, name, title, 0.7, queries=True) + axes + listed(every)
    title = "Six schemes on the fabric of queries-100g.toml, with one change at a time."
    found["sensitivity.toml"] = (
        scenario(SHORT, "sensitivity", title, AT, queries=True) + cases() + listed(six(SHORT))
    )
    for rtt in (20e-6, 200e-6):
        fabric = replace(SHORT, rtt=rtt)
        name = f"rtt-{round(rtt * 1e6)}us"
        title = f"The six schemes of sensitivity.toml at a base round-trip time of {round(rtt * 1e6)} us."
        axes = of_rtt(fabric)
        found[f"{name}.toml"] = scenario(fabric, name, title, AT, queries=True) + axes + listed(six(fabric))
    title = "Six schemes on the fabric of mix-100g.toml, with flow sizes as published, up to 1 GB."
    axes = f"\n[sweep]\naxes = {{ seed = {SEEDS} }}\n"
    found["uncut.toml"] = scenario(LONG, "uncut", title, AT, queries=False) + axes + listed(six(LONG))
    title = "Candidates for the main number of each scheme, on the fabric of queries-100g.toml."
    axes = "\n[sweep]\naxes = { seed = [11, 12] }\n"
    found["grid.toml"] = scenario(SHORT, "grid", title, AT, queries=True) + axes + listed([*candidates()])
    title = "Each scheme by its rule, and with its best number of grid.toml; the seeds are others than there."
    axes = f"\n[sweep]\naxes = {{ seed = {SEEDS} }}\n"
    found["tuned.toml"] = scenario(SHORT, "tuned", title, AT, queries=True) + axes + listed([*tuned()])
    return found


def of_rtt(fabric: Fabric) -> str:
    """Return a `[sweep]` table for one round-trip time, labelled like the case in sensitivity.toml."""
    label = f"RTT of {round(fabric.rtt * 1e6)} us"
    return (
        f'\n[sweep]\naxes = {{ case = ["{label}"], seed = {SEEDS} }}\n\n'
        f'[sweep.together.case]\n"topology.host_delay" = ["{host_delay(fabric)}"]\n'
    )


def candidates() -> Iterator[Scheme]:
    """Yield each scheme four times, with its main parameter times a quarter, a half, one and two."""
    for factor in (0.25, 0.5, 1.0, 2.0):
        for each in schemes(SHORT, factor):
            yield replace(each, name=f"{each.name}, x{factor:g}", why=())


TUNED: Mapping[str, float] = {
    "CUBIC": 0.25,
    "NewReno": 0.5,
    "DCTCP": 0.25,
    "DCTCP, conservative K": 0.25,
    "DCTCP, K/8": 0.5,
    "ECN*": 0.25,
    "MQ-ECN": 0.25,
    "TCN": 0.25,
    "BCC": 2,
    "BCC + MQ-ECN": 0.25,
    "Pulser on MQ-ECN": 0.5,
    "Pulser on BCC": 0.5,
    "HCF": 0.25,
    "ICTCP": 2,
    "ABM": 2,
    "CoDel": 0.25,
    "CUBIC beside DCTCP": 2,
}
"""Factors with the lowest geometric mean of the p99 of small flows and the mean of large flows in grid.toml.

Schemes that are not listed are best with their own rule.
"""


def tuned() -> Iterator[Scheme]:
    """Yield all schemes as their rules set them, then tuned copies of the schemes in `TUNED`."""
    yield from (replace(each, why=()) for each in schemes(SHORT))
    for factor in sorted({*TUNED.values()}):
        for each in schemes(SHORT, factor):
            if TUNED.get(each.name) == factor:
                yield replace(each, name=f"{each.name}, tuned", why=())


def main() -> None:
    """Write the scenarios into this folder, or into the folder that the argument names."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, text in files().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
