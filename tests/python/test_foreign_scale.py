"""Tests of long lists of flows from other simulators: memory and time grow linearly and slowly."""

import shutil
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from pages import ROOT
from shallows.foreign.hpcc import import_hpcc
from shallows.foreign.htsim import import_htsim
from shallows.foreign.writing import Imported, flow_list

FILES = ROOT / "experiments" / "foreign"


def _memory_of_a_flow(make: Callable[[int], Imported]) -> float:
    """Return the memory in bytes that each further flow adds to the peak of an import."""
    peaks = []
    for count in (5_000, 20_000):
        tracemalloc.start()
        imported = make(count)
        for _ in flow_list(imported.flows):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(imported.flows) == count
    return (peaks[1] - peaks[0]) / 15_000


def test_a_flow_of_hpcc_takes_the_bytes_of_its_numbers_while_it_is_imported(tmp_path: Path) -> None:
    # 8 for start and size each, 4 for source, destination, line and port each, 1 for the group: 33, and while
    # the largest of these arrays grows it is there twice. A list of objects takes 1,000.
    hpcc = Path(shutil.copytree(FILES / "hpcc", tmp_path / "mix"))

    def of_hpcc(count: int) -> Imported:
        with (hpcc / "flow.txt").open("w") as file:
            file.write(f"{count}\n")
            file.writelines(f"0 3 3 {1000 + n} {n + 1} {2 + n / 10**6:.6f}\n" for n in range(count))
        return import_hpcc(hpcc)

    assert _memory_of_a_flow(of_hpcc) < 66


def test_a_flow_of_htsim_takes_the_bytes_of_its_numbers_while_it_is_imported(tmp_path: Path) -> None:
    # Lines are in reverse order of time, so that they are sorted: 28 bytes for a connection, 28 for the flow
    # that becomes of it, and for the time of sorting two lists of numbers, with 8 bytes for each entry, and
    # 28 to 32 for the number itself. A list of objects takes 1,500.
    def of_htsim(count: int) -> Imported:
        path = tmp_path / "many.cm"
        with path.open("w") as file:
            file.write(f"Nodes 4\nConnections {count}\n")
            file.writelines(f"0->{1 + n % 3} start {9_000_000 - n} size {n + 1}\n" for n in range(count))
        return import_htsim(path, None)

    assert _memory_of_a_flow(of_htsim) < 200


def test_a_matrix_without_ids_is_read_in_time_that_grows_with_its_lines(tmp_path: Path) -> None:
    # Four times the lines take four times as long; where each line looks at all others, sixteen times.
    def seconds(count: int) -> float:
        path = tmp_path / f"{count}.cm"
        with path.open("w") as file:
            file.write(f"Nodes 4\nConnections {count}\n")
            file.writelines(f"0->{1 + n % 3} start {n} size 9\n" for n in range(count))
        began = time.process_time()
        import_htsim(path, None)
        return time.process_time() - began

    assert min(seconds(8_000) for _ in range(3)) < 8 * min(seconds(2_000) for _ in range(3))


def test_a_trigger_of_htsim_takes_the_bytes_of_its_numbers_while_it_is_imported(tmp_path: Path) -> None:
    # Every other flow starts when the one before it is acknowledged. Of each flow 44 bytes as it stands in
    # the file and 36 as it is listed, 25 for each trigger, and to sort them a number of 28 to 32 bytes and
    # two places of 8. A trigger that is an object in a dictionary takes 260 bytes.
    def of_htsim(count: int) -> Imported:
        path = tmp_path / "many.cm"
        with path.open("w") as file:
            file.write(f"Nodes 4\nConnections {count}\nTriggers {count // 2}\n")
            for n in range(0, count, 2):
                trigger = n // 2 + 1
                file.write(f"0->{1 + n % 3} id {n + 1} start {n} size 9 send_done_trigger {trigger}\n")
                file.write(
                    f"0->{1 + n % 3} id {n + 2} trigger {trigger} size 9\ntrigger id {trigger} oneshot\n"
                )
        return import_htsim(path, None)

    assert _memory_of_a_flow(of_htsim) < 160


def written(path: Path, lines: Iterable[str]) -> Path:
    """Write lines into a file, and return its path."""
    with path.open("w") as file:
        file.writelines(lines)
    return path


def by_hpcc(folder: Path) -> Callable[[], Imported]:
    """Return a function that imports many flows of HPCC."""
    hpcc = Path(shutil.copytree(FILES / "hpcc", folder / "mix"))
    flows = (f"0 3 3 {1000 + n % 60_000} {n + 1} {2 + n / 10**6:.9f}\n" for n in range(FLOWS))
    written(hpcc / "flow.txt", [f"{FLOWS}\n", *flows])
    return lambda: import_hpcc(hpcc)


def by_htsim(folder: Path) -> Callable[[], Imported]:
    """Return a function that imports many connections of htsim."""
    lines = (f"0->{1 + n % 3} id {n + 1} start {1_000 * n} size {n + 1}\n" for n in range(FLOWS))
    path = written(folder / "many.cm", [f"Nodes 4\nConnections {FLOWS}\n", *lines])
    return lambda: import_htsim(path, None)


def by_htsim_with_triggers(folder: Path) -> Callable[[], Imported]:
    """Return a function that imports connections of htsim, half of which wait for a trigger."""
    lines = (
        f"0->1 id {n + 1} start {1_000 * n} size 9 send_done_trigger {n // 2 + 1}\n"
        f"0->2 id {n + 2} trigger {n // 2 + 1} size 9\ntrigger id {n // 2 + 1} oneshot\n"
        for n in range(0, FLOWS, 2)
    )
    header = f"Nodes 4\nConnections {FLOWS}\nTriggers {FLOWS // 2}\n"
    path = written(folder / "many.cm", [header, *lines])
    return lambda: import_htsim(path, None)


FLOWS = 50_000


@pytest.mark.parametrize("prepared", [by_hpcc, by_htsim, by_htsim_with_triggers])
def test_a_flow_takes_less_than_ten_microseconds_of_the_processor(
    prepared: Callable[[Path], Callable[[], Imported]], tmp_path: Path
) -> None:
    # A million flows are imported in 10 s: here reading takes 1 to 2 us of a flow, the rest 2. Line by line
    # reading alone takes 6 to 11.
    make = prepared(tmp_path)

    def seconds() -> float:
        began = time.process_time()
        imported = make()
        for _ in flow_list(imported.flows):
            pass
        assert len(imported.flows) == FLOWS
        return time.process_time() - began

    assert min(seconds() for _ in range(4)) < 10e-6 * FLOWS


def test_a_listed_flow_that_waits_takes_the_bytes_of_its_numbers_in_the_engine(tmp_path: Path) -> None:
    # Every other flow waits for the one before it. Of each flow 24 bytes of text, 64 of its numbers, 8 for
    # what it waits for, 6 for what it gives, and for each signal 30 of its name in a table and 20 of who
    # waits for it and how often it was given: 127 bytes. Lists and names that are each an allocation of their
    # own take 240.
    def peak(count: int) -> int:
        flows = tmp_path / f"{count}.csv"
        with flows.open("w") as file:
            file.write("start_ns,source,destination,bytes,after,on_acked\n")
            file.writelines(
                f"{n},{n % 9},9,1000,,{n + 1}\n0,{n % 9},9,1000,{n + 1},\n" for n in range(count // 2)
            )
        scenario = (
            'topology = { kind = "star", hosts = 10, rate = "1Gbps", link_delay = "1us" }\n'
            'switch.buffer = { kind = "static-partition", per_port = "100p" }\n'
            f'workload = [{{ kind = "trace", path = "{flows.name}" }}]\n'
        )
        code = (
            "import re, sys; from shallows import _core\n"
            "_core.parse(sys.argv[1], 'a.toml', sys.argv[2], [], None)\n"
            "print(re.search(r'VmHWM:\\s+([0-9]+)', open('/proc/self/status').read())[1])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, scenario, str(tmp_path)], capture_output=True, text=True, check=True
        )
        return int(done.stdout) << 10

    assert (peak(250_000) - peak(50_000)) / 200_000 < 180
