"""Lines of htsim's connections that are read together have the numbers and errors that they have alone."""

from dataclasses import astuple
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given, settings
from hypothesis import strategies as st

from shallows.errors import ShallowsError
from shallows.foreign.htsim_connections import FIELDS, ConnectionReader
from shallows.foreign.ignoring import Ignored, LeftOut
from shallows.foreign.reading import read_lines

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


def read(text: str, ignored: Ignored) -> object:
    """The numbers of some lines, or the error."""
    reader = ConnectionReader(ignored, LeftOut())
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.cm"
        path.write_text(text, encoding="utf-8")
        try:
            for each in read_lines(path):
                reader.read(each)
            reader.finish()
        except ShallowsError as error:
            return str(error).replace(folder, "")
    return list(reader.rows), astuple(reader.starts), reader.too_large


@settings(max_examples=300, derandomize=True, deadline=None, database=None)
@given(st.lists(line(), min_size=1, max_size=3))
@example(["0->1 start 5 size 9", "1->2 id 4 start 1.5 size 9"])
@example(["0->1 trigger 3 size 4294967296 send_done_trigger 4", "1->2 id 4 start 123456789 size 0"])
def test_lines_that_are_read_together_say_what_they_say_word_by_word(lines: list[str]) -> None:
    text = "\n".join(lines)
    # A word that is passed over, here one that no line has, makes the reader take every line by itself.
    assert read(text, Ignored()) == read(text, Ignored(["addon"]))
