"""Numbers of Python's own arithmetic, each worked out by hand."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

import shallows as sh
from shallows.reproduction.expected import Claim, Experiment
from shallows.reproduction.judging import Measured, judge, within
from shallows.runs.pools import Recorded, pool_of
from shallows.series import completions
from shallows.series.measures import measure

# Links of 10 Gb/s and 1 µs: a segment of 1,460 bytes, 1,500 on the wire, takes 4.4 µs from host to host. The
# second flow is cut off 80 µs after its arrival.
CUT = """
stop.at = "100us"
host.jitter = "off"
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
framing = "0B"
[switch]
buffer = { kind = "static-partition", per_port = "100p" }
[tcp]
congestion = "reno"
timestamps = false
delayed_ack = { segments = 1 }
[measure]
warm_up = "10us"
bins = ["1460B", "10MB"]
[[workload]]
kind = "incast"
senders = 0
receivers = 1
size = "1460B"
start = "10us"
[[workload]]
kind = "incast"
senders = 2
receivers = 3
size = "100MB"
start = "20us"
"""


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> sh.Run:
    """A run of two flows, one of which is not complete."""
    folder = tmp_path_factory.mktemp("cut")
    (folder / "cut.toml").write_text(CUT)
    return sh.run(folder / "cut.toml", out=folder / "run")


def test_a_flow_that_is_not_complete_is_in_no_mean(cut: sh.Run) -> None:
    assert cut.flows["fct_us"].to_list() == [pytest.approx(4.4), None]
    complete = completions.completed([cut])
    assert complete["fct_us"].to_list() == [pytest.approx(4.4)]
    assert measure(cut, "flow_gbps.all") == pytest.approx(1_460 * 8 / 4_400)
    assert measure(cut, "flow_gbps.small") == pytest.approx(1_460 * 8 / 4_400)
    assert measure(cut, "ideal_fct_us.all.p100") == pytest.approx(4.4)
    assert measure(cut, "fct_us.all.p99") == pytest.approx(4.4)
    # A bin holds its upper edge, not its lower one.
    assert completions.within(complete, 0, 1_460).height == 1
    assert completions.within(complete, 1_460, None).height == 0


SWEEP = Experiment("x", ["1"], Path("x.toml"), axis="load")


def points(**seeds: dict[int, float]) -> list[Measured]:
    """Runs of schemes at one load, by seed."""
    return [
        Measured({"scheme": scheme, "load": 0.4, "seed": seed}, lambda _, value=value: value)  # type: ignore[misc]
        for scheme, values in seeds.items()
        for seed, value in values.items()
    ]


def verdict(runs: list[Measured], **keys: Any) -> str:
    """Of a claim at its one place."""
    said = {"id": "c", "experiment": "x", "kind": "value", "metric": "m", "source": "§1"}
    (check,) = judge(Claim(**said | keys), SWEEP, runs, quick=False)
    return check.verdict


def test_limits_of_a_claim_belong_to_it() -> None:
    assert within(3, 6, 3, 6) == "holds"
    # What only touches it may hold.
    assert within(6, 7, 3, 6) == within(2, 3, 3, 6) == "cannot tell"
    # Half of −10 % is 5 %, above and below.
    side: dict[str, Any] = {
        "where": {"scheme": "a"},
        "versus": {"scheme": "b"},
        "expected": -0.1,
        "relative": 0.5,
    }
    for value, said in ((86, "holds"), (94, "holds"), (84, "does not hold"), (96, "does not hold")):
        assert verdict(points(a={1: value}, b={1: 100}), **side) == said


def test_runs_are_paired_by_their_seeds() -> None:
    # The same seeds in another order, and one that only one side has. Seed by seed the one is a tenth less.
    runs = points(a={3: 27, 1: 9, 2: 18}, b={1: 10, 2: 20, 3: 30, 4: 40})
    sides: dict[str, Any] = {"where": {"scheme": "a"}, "versus": {"scheme": "b"}}
    assert verdict(runs, expected=-0.1, absolute=1e-9, **sides) == "holds"
    assert verdict(points(a={3: 29, 1: 9, 2: 19}, b={1: 10, 2: 20, 3: 30, 4: 40}), kind="ordering",
                   lower={"scheme": "a"}, higher={"scheme": "b"}, at=[0.4]) == "holds"  # fmt: skip


def test_a_level_is_crossed_by_what_is_above_it() -> None:
    runs = [Measured({"load": load, "seed": 1}, lambda _, value=value: value)  # type: ignore[misc]
            for load, value in ((0.4, 5.0), (0.6, 5.1))]  # fmt: skip
    assert verdict(runs, kind="crossing", level=5.0, expected=0.6) == "holds"


def test_an_average_over_places_is_taken_seed_by_seed() -> None:
    # 80, 100 and 120 at one place, 120, 100 and 80 at the other: 100 in each seed.
    runs = [
        Measured({"load": load, "seed": seed}, lambda _, value=value: value)  # type: ignore[misc]
        for load, values in ((0.4, (80, 100, 120)), (0.8, (120, 100, 80)))
        for seed, value in enumerate(values)
    ]
    assert verdict(runs, over=[0.4, 0.8], expected=100.0, absolute=1.0) == "holds"


def test_ports_share_the_pools_of_their_switch_in_their_order() -> None:
    # Two queues each; three ports of one switch, of which the third begins another pool; one of another.
    ports = [port for port in ("a->x", "a->y", "a->z", "b->x") for _ in range(2)]
    buffer = {"kind": "dynamic-threshold", "ports_per_pool": 2}

    def pools(buffer: dict[str, Any]) -> dict[str, str]:
        run = SimpleNamespace(scenario={"switch": {"buffer": buffer}}, counters=pl.DataFrame({"port": ports}))
        return pool_of(cast(Recorded, run))

    assert pools(buffer) == {"a->x": "a.pool0", "a->y": "a.pool0", "a->z": "a.pool1", "b->x": "b.pool0"}
    assert set(pools({"kind": "complete-sharing"}).values()) == {"a.pool0", "b.pool0"}
    assert [*pools({"kind": "static-partition"}).values()] == ["a.pool0", "a.pool1", "a.pool2", "b.pool0"]
