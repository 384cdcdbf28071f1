"""Tests of the experiment on one fabric: scenarios equal those from the rules, for any number of threads."""

import itertools
from pathlib import Path
from types import ModuleType

import pytest

from pages import ROOT
from shallows.bounded import parse_toml
from shallows.runs.executing import execute
from shallows.runs.threads import Threads
from shallows.series.measures import compute
from shallows.sweeps.points import of_scheme, sweep_source
from shared import script

FOLDER = ROOT / "experiments/one-fabric"
SCENARIOS = sorted(path for path in FOLDER.glob("*.toml") if path.name != "expected.toml")


@pytest.fixture(scope="module")
def make() -> ModuleType:
    """The script `make.py`, as a module."""
    return script(FOLDER / "make.py")


def test_the_committed_scenarios_are_those_of_the_rules(make: ModuleType) -> None:
    assert {path.name: path.read_text(encoding="utf-8") for path in SCENARIOS} == make.files()


def test_mean_sizes_are_those_of_the_files(make: ModuleType) -> None:
    for mix in make.MIXES:
        rows = [line.split() for line in (FOLDER / mix.sizes).read_text().splitlines() if line[0] != "#"]
        points = [(float(size), float(share)) for size, share in rows]
        mean = points[0][0] * points[0][1]
        for (low, below), (high, above) in itertools.pairwise(points):
            mean += (low + high) / 2 * (above - below)
        assert mix.mean == pytest.approx(mean, rel=1e-5)
        assert points[-1] == (3_000_000, 1)


def schemes(path: Path) -> list[str]:
    """Return the names of a scenario's schemes."""
    return [each["name"] for each in parse_toml(path.read_text(encoding="utf-8"))["sweep"]["scheme"]]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_bcc_is_set_by_its_formula_for_each_round_trip_time_and_buffer(path: Path, make: ModuleType) -> None:
    if "BCC" not in schemes(path):
        return
    slow, rtt = "10g" in path.stem, {"rtt-20us": 20e-6, "rtt-200us": 200e-6}.get(path.stem, 80e-6)
    fabric = make.SLOW if slow else make.FAST
    source = of_scheme(sweep_source(path), "BCC")
    # BCC, Eq. 2 and 3: B_R = C·RTT·(1 + λ) − S_min, Kmax = B − B_R / α, Kmin = Kmax − C·N·h.
    needed = fabric.rate * rtt / 8 * 1.72 - fabric.reserved
    kmax = fabric.pool - needed / 4
    kmin = kmax - fabric.rate * 8e-6 / 8 * fabric.ports_per_pool
    found = [compute(source, f"curves.1.{key}.bytes") for key in ("kmin", "kmax")]
    assert found == pytest.approx([kmin, kmax], rel=0.03)


def bytes_of(path: Path, scheme: str, folder: Path, threads: int) -> dict[str, bytes]:
    """Run a scheme briefly, and return the contents of its result files."""
    short = {"workload.*.flows": 60, "measure.warm_up": "0us"}
    if "partition-aggregate" in path.read_text(encoding="utf-8"):
        short = {f"workload.{place}.flows": 60 for place in range(4)} | {"measure.warm_up": "0us"}
        short["workload.4.queries"] = 3
    source = of_scheme(sweep_source(path, short), scheme)
    run = execute(
        source, source.parse(), folder / f"{scheme.replace('/', '')}-{threads}", threads=Threads(threads)
    )
    kept = [each for each in run.path.iterdir() if each.suffix == ".parquet"]
    return {each.name: each.read_bytes() for each in kept}


@pytest.mark.parametrize(
    ("path", "scheme"),
    [
        *((path, schemes(path)[2]) for path in SCENARIOS),
        *((FOLDER / "queries-100g.toml", scheme) for scheme in schemes(FOLDER / "queries-100g.toml")),
    ],
    ids=lambda each: each.stem if isinstance(each, Path) else each,
)
def test_one_and_two_threads_give_the_same_bytes(path: Path, scheme: str, tmp_path: Path) -> None:
    one, two = (bytes_of(path, scheme, tmp_path, threads) for threads in (1, 2))
    assert len(one) >= 3
    assert one == two
