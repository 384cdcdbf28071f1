"""Tests of limits of HPCC's keys, of PINT's sizes, and of long lists of flows."""

from pathlib import Path

import pytest

from shallows.errors import ShallowsError
from shallows.foreign.hpcc import import_hpcc
from shallows.foreign.ignoring import Ignored
from test_foreign_roce import configured


@pytest.mark.parametrize(("base", "mtu"), [("1.05", 1_061), ("1.03", 1_062), ("1.001", 1_062)])
def test_pint_has_one_byte_if_the_code_of_the_largest_utilisation_fits_it(
    hpcc: Path, base: str, mtu: int
) -> None:
    # The code of the largest utilisation is log_b(512²): 255.7 with a base of 1.05, and 422 with 1.03.
    topology = configured(hpcc, 10, f"PINT_LOG_BASE {base}\n").tables["topology"]
    assert topology["mtu"] == mtu
    assert topology["mtu"] + topology["framing"] == 1_066, "HPCC's size and RETH"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("PMAX_MAP 2 100000000000 2 400000000000 0.2\n", "PMAX must be above 0 and at most 1 for links of"),
        ("PMAX_MAP 2 100000000000 0 400000000000 0.2\n", "PMAX must be above 0 and at most 1 for links of"),
        ("CC_MODE 100\n", "congestion control 100 is not modelled"),
        ("CC_MODE 101\n", "CC_MODE must be a whole number from 0 to 100"),
    ],
)
def test_values_out_of_range_are_refused(hpcc: Path, more: str, message: str) -> None:
    with pytest.raises(ShallowsError, match=message):
        configured(hpcc, 8, more)


def test_only_keys_of_the_file_can_be_ignored(hpcc: Path) -> None:
    with pytest.raises(ShallowsError, match=r"--ignore FOO: .* has no such key"):
        configured(hpcc, 8, ignored=Ignored(["FOO"]))


@pytest.mark.parametrize("port", [" 100", ""])
def test_long_lists_may_have_no_ports_and_start_times_of_five_digits(hpcc: Path, port: str) -> None:
    # Long lists are read in blocks. All flows of a list have a port, or none has.
    lines = [f"{number % 2} {2 + number % 2} 3{port} 1000 0.{number:05}" for number in range(100_000)]
    (hpcc / "flow.txt").write_text("\n".join(["100000", *lines, ""]))
    starts = import_hpcc(hpcc).flows.column("start_ps")
    assert list(starts) == [number * 10**7 for number in range(100_000)]


def test_a_network_may_have_one_switch(hpcc: Path) -> None:
    (hpcc / "topology.txt").write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    (hpcc / "flow.txt").write_text("1\n0 1 3 100 1000 0\n")
    assert import_hpcc(hpcc).tables["topology"]["switches"] == ["switch2"]


def test_a_network_has_two_hosts(hpcc: Path) -> None:
    (hpcc / "topology.txt").write_text("2 1 1\n1\n0 1 100Gbps 1us 0\n")
    with pytest.raises(ShallowsError, match="hosts"):
        import_hpcc(hpcc)
