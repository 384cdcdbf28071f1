"""Tests of damaged vendors' files, claims and options: each is read, or rejected with a short message.

By default, the same inputs are drawn in each run, for a few seconds.
`SHALLOWS_FUZZ=100000 pytest tests/python/test_fuzz.py` draws 100,000 different inputs of each kind.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import hostile
from pages import ROOT
from shallows.advisor import writers
from shallows.advisor.explain import explain
from shallows.advisor.readers import reader
from shallows.advisor.resolved import Hints, resolve
from shallows.advisor.units import converted
from shallows.errors import ScenarioError, ShallowsError
from shallows.foreign.hpcc import import_hpcc
from shallows.foreign.htsim import import_htsim
from shallows.foreign.ignoring import Ignored
from shallows.reproduction.expected import FILE, read
from shallows.runs.source import Source
from shared import SMALL
from vendors import SAMPLES, SWITCHES

LONG = int(os.environ.get("SHALLOWS_FUZZ", "0"))

fuzz = settings(
    max_examples=LONG or 150,
    derandomize=not LONG,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)

vendors_fuzz = settings(fuzz, max_examples=LONG or 200)
"""Settings of tests that run for each vendor's format."""

names_fuzz = settings(fuzz, max_examples=LONG or 60)
"""Settings of tests of names that run for each vendor's format and write each input in two formats."""

FILES = ROOT / "experiments" / "foreign"

MOST = 4_000
"""Maximum number of characters of a message, which may list all allowed values."""

WORDS = """
0 -1 1 2 7 -0 +1 1.5 . - 1e999999 1e-999999 1E40 1e41 1e308 nan inf -inf NaN Infinity 1_000 ٣ ² 0x10 1e e1
18446744073709551616 9223372036854775808 4294967296 2147483648 100Gbps 1e99Gbps 1us 86401s
-> 0-> 0->0 1->1->1 trigger id start size # Nodes Connections Tier Tiers CC_MODE KMAX_MAP
[ ] { } = " ' [[ [] {} true 1979-05-27 "" [[1,2]] [0.1,'x'] ''' \\
"""
TOKENS = [
    *WORDS.split(),
    *("", "9" * 5_000, "0." + "3" * 200, "x" * 9_000, "[" * 3_000),
    *("\x00", "\ufeff", "\u2028", "\r", "\t", "{ load = [] }"),
]

Damage = list[tuple[float, int, str]]

places = st.floats(0, 1, exclude_max=True)
tokens = st.one_of(st.sampled_from(TOKENS), st.text(max_size=4))
damages = st.lists(st.tuples(places, st.integers(0, 5), tokens), min_size=1, max_size=4)


def damaged(text: str, damage: Damage) -> str:
    """Return a text with words replaced, added and removed, and with lines removed, doubled and cut."""
    for place, how, token in damage:
        if how < 3:
            words = text.split(" ") if how == 2 else text.replace("\n", " \n ").split(" ")
            at = int(place * len(words))
            words[at : at + (how != 1)] = [token]
            text = " ".join(words).replace(" \n ", "\n")
        else:
            lines = text.splitlines()
            at = int(place * max(len(lines), 1))
            lines[at : at + 1] = [[], lines[at : at + 1] * 2, [text[:at] + token]][how - 3]
            text = "\n".join(lines)
    return text


def reads_or_refuses(reader: Callable[[], object]) -> None:
    try:
        reader()
        message = "read"
    except (ShallowsError, ScenarioError) as refused:
        message = str(refused)
    assert 0 < len(message) < MOST, message[:MOST]


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="replace", newline="")


@fuzz
@given(st.sampled_from(["config.txt", "topology.txt", "flow.txt"]), damages)
@example("config.txt", [(0.5, 0, "9" * 5_000)])
def test_hpcc_files_with_any_damage(name: str, damage: Damage) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place) / "mix"
        shutil.copytree(FILES / "hpcc", folder)
        write(folder / name, damaged((folder / name).read_text(), damage))
        reads_or_refuses(lambda: import_hpcc(folder))


@fuzz
@given(
    st.sampled_from(["incast.cm", "permutation.cm"]),
    st.sampled_from(["tree.topo", None]),
    damages,
    st.booleans(),
    st.booleans(),
)
def test_htsim_files_with_any_damage(
    matrix: str, tree: str | None, damage: Damage, which: bool, unmodelled: bool
) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place) / "htsim"
        shutil.copytree(FILES / "htsim", folder)
        path = folder / (tree if tree and which else matrix)
        write(path, damaged(path.read_text(), damage))
        ignored = Ignored(unmodelled=unmodelled)
        reads_or_refuses(lambda: import_htsim(folder / matrix, folder / tree if tree else None, ignored))


@fuzz
@given(st.sampled_from(sorted(path.parent.name for path in ROOT.glob(f"experiments/*/{FILE}"))), damages)
def test_claims_with_any_damage(paper: str, damage: Damage) -> None:
    text = claims(paper)
    with TemporaryDirectory() as place:
        write(Path(place) / FILE, damaged(text, damage))
        reads_or_refuses(lambda: read(Path(place)))


@pytest.mark.parametrize("format_", SAMPLES)
@vendors_fuzz
@given(st.data(), damages)
def test_configurations_of_switches_with_any_damage(
    format_: str, data: st.DataObject, damage: Damage
) -> None:
    stem = Path(SAMPLES[format_]).stem
    sample = data.draw(st.sampled_from(sorted(path for path in SWITCHES.iterdir() if path.stem == stem)))
    reads_or_refuses(partial(read_and_write, format_, damaged(sample.read_text(), damage)))


@pytest.mark.parametrize(
    ("format_", "damage"),
    [
        ("avd", [(0.0, 0, "qos: &a [*a]")]),
        ("junos", [(0.5, 0, "{" * 90)]),
        ("junos", [(0.0, 0, ";")]),  # a statement of no word
        (
            "eos",
            [(0.625, 2, "0"), (0.171875, 2, "-1"), (0.171875, 3, "0")],
        ),  # a drop precedence that is no number
        ("avd", [(0.234375, 3, "0")]),
        ("nvue", [(0.740234375, 0, "9" * 5_000)]),  # a traffic class of more digits than Python converts
    ],
)
def test_damage_that_once_ended_in_an_error_of_python_is_read_or_refused(
    format_: str, damage: Damage
) -> None:
    text = damaged((SWITCHES / SAMPLES[format_]).read_text(), damage)
    reads_or_refuses(partial(read_and_write, format_, text))


def read_and_write(format_: str, text: str) -> None:
    """Read a configuration, write it in its own and in another format, and explain it."""
    switch = reader(format_).read(text, "switch")
    writers.write(format_, None, switch)
    other = writers.FORMATS[len(text) % len(writers.FORMATS)]
    writers.write(other, None, converted(switch, other, Hints(rate=10**11, pool=10**7)).switch)
    explain(resolve(switch))


@pytest.mark.parametrize("source", SAMPLES)
@names_fuzz
@given(
    st.data(),
    st.sampled_from(writers.FORMATS),
    st.lists(st.one_of(st.sampled_from(hostile.BREAKS), st.text(max_size=2)), min_size=1, max_size=3),
)
def test_no_name_of_a_file_becomes_a_word_of_its_own_in_what_is_written(
    source: str, data: st.DataObject, to: str, breaks: list[str]
) -> None:
    old = data.draw(st.sampled_from(hostile.names(source)))
    new = old + "".join(each + hostile.MARK for each in breaks)
    text = hostile.renamed(source, old, new)
    for target in (to, source):
        try:
            switch = reader(source).read(text, "switch")
            made = writers.write(
                target, None, converted(switch, target, Hints(rate=10**11, pool=10**7)).switch
            )
        except ShallowsError:  # in so many words: `reads_or_refuses` looks at them
            continue
        assert hostile.strange(target, made.change, switch) == []
        if target not in ("sonic", "avd"):
            assert hostile.strange(target, made.rollback, switch) == []


@cache
def claims(paper: str) -> str:
    """Return the first experiment and some claims of a paper; reading all claims would take too long."""
    return (ROOT / "experiments" / paper / FILE).read_text(encoding="utf-8")[:4_000].rpartition("\n[[")[0]


VALUES = """
0 -1 1 9223372036854775807 -9223372036854775808 1e308 -1e308 1e-308 1e999 nan inf true dcqcn 10gbps
'' '0B' '1B' '1125899906842624B' '9e9B' '1ps' '86400s' '0s' '1e999999ps' '100Tbps' '1bps' '4294967295p'
[] {} [[]] '*' '0..131072' 'a{0..4000000000}' '\\u0000' 1979-05-27 '/dev/zero' {kind='dwrr'}
"""
EXTREME = [
    *VALUES.split(),
    *("9" * 5_000, "'" + "9" * 5_000 + "KB'", "[" * 3_000, "x" * 9_000),
    *("{kind='hashed-drr', buckets=4000000000}", "[0.5, 'x', nan]"),
]


@cache
def keys() -> list[str]:
    """Return every key of a resolved scenario, which includes all defaults."""
    return sorted(_keys(json.loads(Source("small.toml", SMALL).parse(ROOT).resolved()), ""))


def _keys(value: object, path: str) -> Iterator[str]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in parts:
        here = f"{path}.{key}" if path else str(key)
        yield here
        yield from _keys(below, here)


@fuzz
@given(st.lists(st.tuples(st.integers(0, 10_000), st.sampled_from(EXTREME)), min_size=1, max_size=3))
def test_options_of_any_value(changes: list[tuple[int, str]]) -> None:
    known = keys()
    overrides = tuple((known[number % len(known)], value) for number, value in changes)

    def load() -> None:
        experiment = Source("small.toml", SMALL, overrides).parse(ROOT)
        json.loads(experiment.footprint())
        json.loads(experiment.resolved())

    reads_or_refuses(load)
