"""Numbers of Python's own arithmetic, each worked out by hand."""

from pathlib import Path
from typing import Any

from shallows.reproduction.expected import Claim, Experiment
from shallows.reproduction.judging import Measured, judge, within

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
