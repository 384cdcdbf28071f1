"""Tests that series are weighted by time, and that reduced series keep their means and peaks."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shallows as sh
from shallows.runs.steps import Series

PORT = """
[stop]
at = "250ms"
[topology]
kind = "star"
hosts = 2
rate = "10Gbps"
[switch]
buffer = { kind = "complete-sharing", pool = "1MB" }
[measure]
traces = [{ ports = ["host0->switch0"] }]
sample_queues = "1ms"
[[workload]]
kind = "udp"
senders = "0..1"
receivers = "1..2"
pattern = { kind = "poisson", rate = "5Gbps" }
"""


def test_the_mean_of_a_queue_is_that_of_an_md1_queue(tmp_path: Path) -> None:
    # One Poisson source at the NIC of its host: Lq = ρ²/(2(1 − ρ)) packets wait (Pollaczek–Khinchine). Of
    # 100,000 packets the mean has a standard error of at most 4.2/√100,000 = 1.3 %
    # (crates/sim/tests/queueing.rs).
    (tmp_path / "port.toml").write_text(PORT)
    run = sh.run(tmp_path / "port.toml", out=tmp_path / "run")
    sent = run.counters.filter(pl.col("port") == "host0->switch0")["sent_bytes"].item()
    load = sent * 8 / 10e9 / run.summary["simulated_s"]
    assert load == pytest.approx(0.5, rel=0.02)
    backlog = run.series("host0->switch0")
    waiting = load**2 / (2 * (1 - load))
    assert backlog.mean() / 1500 == pytest.approx(waiting, rel=0.05)
    # A plain mean of what was written down is another number.
    assert run.traces is not None
    rows = run.traces.filter(pl.col("quantity") == "backlog_bytes")["value"]
    assert rows.to_numpy().mean() / 1500 > 2 * waiting
    # Of M/D/1 at ρ = 0.5 nobody waits for P(0) + P(1) = (1 − ρ)·e^ρ of the time.
    assert backlog.time_at(0) / backlog.length_us == pytest.approx((1 - load) * np.exp(load), rel=0.02)
    assert backlog.quantile(0.8) == 0
    windows = backlog.resampled(every_us=1000)
    assert windows.height == 250
    assert windows["mean"].mean() == pytest.approx(backlog.mean())
    assert windows["max"].max() == backlog.max()


def hand_made(**tables: pl.DataFrame) -> sh.Run:
    """Return a run of 20 µs, with a port that has two queues."""
    run = object.__new__(sh.Run)
    counters = pl.DataFrame(
        {"port": ["a->b", "a->b", "a->c"], "kind": "to-host", "queue": [0, 1, 0], "received": [9, 9, 9]}
    )
    # Each port has a pool of its own.
    scenario = {
        "switch": {"buffer": {"kind": "static-partition"}},
        "measure": {"traces": [{"every": "event"}]},
    }
    summary = {"simulated_s": 2e-5}
    none = {"queues": None, "traces": None, "counters": counters, "scenario": scenario, "summary": summary}
    run.__dict__.update({**none, **tables, "path": Path("by-hand")})
    return run


TRACE = pl.DataFrame(
    {
        "time_us": [10.0, 10.0, 12.0, 12.0, 5.0],
        "port": "a->b",
        "queue": pl.Series([None, 1, None, 1, None], dtype=pl.Int64),
        "quantity": ["backlog_bytes"] * 4 + ["buffer_threshold_bytes"],
        "value": [3000.0, 1000.0, 1500.0, 0.0, 700.0],
    }
)
SAMPLES = pl.DataFrame(
    {
        "time_us": [5.0, 10.0, 5.0],
        "kind": ["port", "port", "pool"],
        "name": ["a->c", "a->c", "a.pool0"],
        "bytes": [80, 0, 40],
    }
)


def test_a_port_is_read_from_its_trace_and_else_from_samples() -> None:
    run = hand_made(traces=TRACE, queues=SAMPLES)
    # 3000 bytes for 2 of 20 µs, and 1500 for 8.
    assert run.series("a->b").mean() == 900
    assert run.series("a->b").std() == pytest.approx(np.sqrt((2 * 3000**2 + 8 * 1500**2) / 20 - 900**2))
    assert run.series("a->b", queue=1).mean() == 100
    # A threshold is not zero before its first recorded value.
    assert run.series("a->b", "buffer_threshold_bytes").mean() == 700
    # A sample holds until the next one.
    assert run.series("a->c").mean() == 80 * 5 / 20
    assert run.series("a.pool0").mean() == 40 * 15 / 20
    always_empty = hand_made(queues=SAMPLES).series("a->b")
    assert (always_empty.mean(), always_empty.time_at(0)) == (0, 20)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a->d",), "by-hand has no port or pool 'a->d'\n  counters.parquet lists the names of ports"),
        (("a->b", "alpha"), "the trace has backlog_bytes, backlog_bytes of queue 1, buffer_threshold"),
        (("a->b", None, 7), "by-hand has no backlog_bytes of queue 7 of a->b"),
        (("a->c",), r'no record of backlog_bytes of a->c\n  set measure.traces = \[{ ports = \["a->c"\] }\]'),
    ],
)
def test_what_was_not_recorded_is_an_error_with_a_remedy(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(sh.ShallowsError, match=message):
        hand_made(traces=TRACE).series(*arguments)  # type: ignore[arg-type]


def test_what_cannot_be_asked_of_a_series_is_an_error() -> None:
    series = Series(np.array([0.0, 10.0]), np.array([1.0, 1.0]))
    with pytest.raises(sh.ShallowsError, match="a quantile must be from 0 to 1, got 99"):
        series.quantile(99)
    with pytest.raises(sh.ShallowsError, match=r"within the series, got 5 to 11 µs\n  choose times from 0"):
        series.between(5, 11)
    with pytest.raises(sh.ShallowsError, match="longer than 0 µs, got 0"):
        series.resampled(0)
    with pytest.raises(sh.ShallowsError, match="longer than 0 µs, got inf"):
        series.resampled(np.inf)
    with pytest.raises(
        sh.ShallowsError, match=r"at most 10,000,000 windows; 10 µs in windows of 1e-09 µs need more"
    ):
        series.resampled(1e-9)


@st.composite
def bursty(draw: st.DrawFn) -> Series:
    """Draw the backlog of a queue: busy periods with many changes, and gaps, which may be long."""
    source = np.random.default_rng(draw(st.integers(0, 2**32)))
    times, values = [0.0], [0.0]
    for _ in range(draw(st.integers(1, 6))):
        count, length = draw(st.integers(1, 400)), draw(st.floats(0.1, 1e4))
        begin = times[-1] + draw(st.floats(0, 1e5))
        times += sorted(source.uniform(begin, begin + length, count).tolist())
        values += [*source.integers(0, 4, count - 1).tolist(), 0]
    return Series(np.array([*times, times[-1] + 1 + draw(st.floats(0, 1e5))]), np.array([*values, 0.0]))


@settings(max_examples=60, deadline=None)
@given(bursty(), st.integers(4, 300))
def test_what_is_drawn_has_the_area_and_the_idle_time_of_what_was(series: Series, most: int) -> None:
    parts = series.parts(most)
    lengths = np.diff(parts.edges)
    assert len(lengths) <= most
    assert (parts.low <= parts.mean).all()
    assert (parts.mean <= parts.high).all()
    assert (parts.mean * lengths).sum() == pytest.approx(series.mean() * series.length_us, rel=1e-9)
    # What is drawn as empty was; what was empty and is not drawn so lies in parts of several values whose
    # band begins at zero, none of which is longer than the page says, nor than two parts of `most`.
    empty = lengths[parts.high == 0].sum()
    mixed = lengths[(parts.low == 0) & (parts.high > 0)]
    assert empty <= series.time_at(0) * (1 + 1e-9)
    assert series.time_at(0) <= (empty + mixed.sum()) * (1 + 1e-9)
    assert lengths[parts.low < parts.high].max(initial=0) <= parts.longest_us * (1 + 1e-6)
    assert parts.longest_us <= series.length_us / (most // 2)
    # Nothing sticks out: neither of a part, nor of all.
    assert parts.high.max() == series.max()
    place = np.searchsorted(parts.edges, series.times[:-1], side="right") - 1
    held = np.diff(series.times) > 0
    assert (series.values[:-1] <= parts.high[place])[held].all()
    assert (series.values[:-1] >= parts.low[place])[held].all()


def test_a_gap_between_bursts_is_drawn_empty_and_bursts_as_finely_as_points_permit() -> None:
    # Two bursts of 5,000 changes in 1 ms, and 98 ms between them.
    burst = np.arange(5000) / 5
    times = np.concatenate([burst, 99_000 + burst, [100_000]])
    values = np.append(np.tile(np.arange(5000) % 7, 2), 0.0)
    values[[4999, 9999]] = 0
    parts = Series(times, values).parts(400)
    longest = np.diff(parts.edges).argmax()
    assert parts.edges[longest] < 1_020
    assert parts.edges[longest + 1] == 99_000
    assert parts.high[longest] == 0
    # Parts of the whole time that were as many would each last 250 µs.
    assert parts.longest_us < 20
