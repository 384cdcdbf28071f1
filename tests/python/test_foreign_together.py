"""Tests that lines of other simulators' flows are read equally in blocks and word by word."""

from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shallows.errors import ShallowsError
from shallows.foreign.hpcc_flows import read_flows
from shallows.foreign.hpcc_topology import Network
from shallows.foreign.htsim_connections import FIELDS
from shallows.foreign.htsim_matrix import MatrixReader
from shallows.foreign.ignoring import Ignored, LeftOut

NUMBERS = [
    "0",
    "1",
    "7",
    "007",
    "16777217",
    "4294967295",
    "4294967296",
    "86400000000000001",
    "9223372036854775808",
]
texts = st.one_of(
    st.sampled_from([*NUMBERS, "1.5", "-1", "x", "٣", "1_0", "9" * 5_000]), st.integers(0, 99).map(str)
)
words = st.one_of(st.sampled_from([*FIELDS, "msg", "prio"]), st.sampled_from(["id", "start", "size"]))


@st.composite
def line(draw: st.DrawFn) -> str:
    ends = draw(
        st.one_of(st.just("0->1"), st.tuples(texts, texts).map("->".join), st.just("->"), st.just("1->2->3"))
    )
    if draw(st.booleans()):
        return f"{ends} id {draw(texts)} start {draw(texts)} size {draw(texts)}"
    pairs = draw(st.lists(st.tuples(words, texts), max_size=5))
    return " ".join([ends, *(f"{word} {text}" for word, text in pairs), *draw(st.lists(words, max_size=1))])


trigger = st.one_of(
    texts.map("trigger id {} oneshot".format),
    texts.map("trigger id {} multishot".format),
    st.tuples(texts, texts).map(lambda both: "trigger id {} barrier count {}".format(*both)),
)
other = st.sampled_from(["", "# 1->2 start 3 size 4", "Nodes 4", "failure 1 2", "0->1\tstart  5 size 9 "])


def read_matrix(path: Path) -> object:
    reader = MatrixReader(path, Ignored(unmodelled=True), LeftOut())
    reader.read()
    rows, triggers, connections = reader.matrix.connections, reader.matrix.triggers, reader.connections
    twice = triggers.close()
    listed = [triggers[place] for place in range(len(triggers))]
    return list(rows), twice, listed, astuple(connections.starts), connections.too_large, reader.failures


def read(text: str, reader: Callable[[Path], object], fewest: int, block: int = 1 << 16) -> object:
    """Return the result or error of a reader that reads at least `fewest` lines of a block together."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("shallows.foreign.shapes.FEWEST", fewest)
        patch.setattr("shallows.bounded.BLOCK", block)
        path = Path(folder) / "x.cm"
        path.write_text(text, encoding="utf-8")
        try:
            return reader(path)
        except ShallowsError as error:
            return str(error).replace(folder, "")


@settings(max_examples=400, derandomize=True, deadline=None, database=None)
@given(st.lists(st.one_of(line(), line(), trigger, other), min_size=2, max_size=6))
@example(["0->1 start 5 size 9", "1->2 id 4 start 1.5 size 9"])
@example(["0->1 start 5 size 9", "->12 start 4 size 9"])
@example(["0->1 trigger 3 size 4294967296 send_done_trigger 4", "1->2 id 4 start 123456789 size 0"])
@example(["trigger id 7 oneshot", "0->1 trigger 7 size 5", "trigger id 3 barrier count 2"])
@example(["0->1 id 4 msg 9 start 5 size 9", "0->1 id 4 start 7 size 9"])
@example(["0->1 start 16777217 size 9", "0->1 start 33554435 size 9", "0->1 start 9007199791611905 size 9"])
def test_connections_and_triggers_that_are_read_together_say_what_they_say_word_by_word(
    lines: list[str],
) -> None:
    text = "\n".join(lines)
    assert read(text, read_matrix, 2) == read(text, read_matrix, 1 << 20)


NETWORK = Network(hosts=[0, 1, 3, 9], switches=[2, 4], cables=[])
seconds = st.one_of(
    st.sampled_from(
        ["2", "2.000000001", "2.000000000001", "2.0000000000005", "86400", "86400.1", "1e1", "2."]
    ),
    st.sampled_from(["0" * 39 + "2.5", "2." + "0" * 45, "9" * 25, "2.50"]),
    st.decimals(2, 3, places=9).map(str),
)
listed = st.tuples(
    st.sampled_from("0139"),
    st.sampled_from(["0", "1", "3", "9", "2", "17", "x"]),
    st.sampled_from(["1", "3", "7", "0", "8"]),
    st.sampled_from(["100", "65535", "65536", "007"]),
    st.sampled_from(["1", "4294967295", "4294967296", "0", "9" * 30]),
    seconds,
).map(" ".join)
usual = st.tuples(st.sampled_from(["0 3", "3 1", "9 0"]), st.integers(1, 9**12), seconds).map(
    lambda three: "{} 3 100 {} {}".format(*three)
)


@settings(max_examples=400, derandomize=True, deadline=None, database=None)
@given(
    st.integers(0, 9),
    st.booleans(),
    st.lists(st.one_of(usual, usual, usual, listed), max_size=9),
    st.booleans(),
)
@example(3, True, ["0 1 3 100 5 2.5", "1 3 3 100 4294967296 2.50", "3 9 3 100 7 3", "what follows"], True)
@example(2, False, ["0 1 3 100 5 2.5", "1 3 3 100 4294967296 2.50"], False)
def test_flows_of_hpcc_that_are_read_together_say_what_they_say_word_by_word(
    count: int, short_sizes: bool, lines: list[str], ports: bool
) -> None:
    listed = lines if ports else [line.replace(" 100 ", " ") for line in lines]
    text = "\n".join([str(count or len(lines)), *listed, ""])
    network = Network(NETWORK.hosts, NETWORK.switches, [], short_sizes)

    def flows(path: Path) -> object:
        found, notes = read_flows(path, network)
        return list(found), notes

    # The first block, which has the number of flows, is read line by line: here it has only this line.
    assert read(text, flows, 2, 32) == read(text, flows, 1 << 20, 32)
