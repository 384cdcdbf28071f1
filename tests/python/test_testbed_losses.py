"""Tests of losses and retransmissions of real TCP; skipped without root or the testbed's program."""

from pathlib import Path

import pytest

from shallows.runs.executing import execute
from shallows.runs.measuring import measure
from shallows.runs.source import Source
from shared import STAR, needs_testbed

# Datagrams of two hosts fill a queue beyond its threshold for half a second, so that a SYN, which is not
# ECN-capable, is lost: once, as the second goes after a second.
LOST_SYN = (
    STAR[: STAR.index("[[workload]]")].replace("hosts = 3", "hosts = 4")
    + """
[[workload]]
kind = "udp"
senders = "0..2"
receivers = "3..4"
pattern = { kind = "constant", rate = "60Mbps" }
overload = true
ecn = true
stop = "500ms"
[[workload]]
kind = "incast"
senders = "2..3"
receivers = "3..4"
size = "20KB"
start = "200ms"
"""
)


@needs_testbed
@pytest.mark.parametrize("real", [False, True])
def test_a_lost_syn_is_a_timeout_and_no_segment_that_was_retransmitted(tmp_path: Path, real: bool) -> None:
    (tmp_path / "scenario.toml").write_text(LOST_SYN)
    handshake = (("tcp.handshake", "true"), ("tcp.lost_syn", '"linux"'))
    source = Source.read(tmp_path / "scenario.toml", handshake)
    run = (measure if real else execute)(source, source.parse(), tmp_path / "run")
    flow = run.flows.row(0, named=True)
    assert (flow["timeouts"], flow["retransmits"]) == (1, 0)
    assert 1_000_000 < flow["fct_us"] < 1_100_000
