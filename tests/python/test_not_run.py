"""Tests of the list at the end of a test run: one line for each reason."""

from not_run import lines, needs


def test_reasons_are_counted_and_the_commonest_is_first() -> None:
    ray, root = needs("Ray", "make ray"), "needs root"
    assert lines([root, ray, ray, ray], run=1_996) == [
        "4 of 2,000 tests were not run:",
        "    3  needs Ray  make ray",
        "    1  needs root",
    ]


def test_commands_stand_in_one_column() -> None:
    found = lines([needs("ns-2", "apt-get install ns2"), needs("Chromium", "make browser")], run=0)
    assert found[1].index("apt-get") == found[2].index("make")


def test_a_reason_of_several_lines_becomes_one() -> None:
    assert lines(["no qdisc red\n(Error: unknown)"], run=0)[1:] == ["    1  no qdisc red (Error: unknown)"]


def test_a_complete_run_says_so() -> None:
    assert lines([], run=2_000) == ["All 2,000 tests were run."]
