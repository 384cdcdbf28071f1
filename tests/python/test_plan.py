"""Tests of the output of `shallows plan`."""

import json
import re
import subprocess
import sys
from multiprocessing import Pipe
from pathlib import Path

import pytest

import shallows as sh
from shallows.cli.sweeping import describe_sweep
from shallows.errors import ShallowsError
from shallows.runs import memory
from shallows.runs.source import Source
from shallows.sweeps import estimate
from shallows.sweeps.estimate import Cost
from shallows.sweeps.points import Point, plan
from shared import Shell


def test_a_plan_lists_points_and_what_they_cost_and_runs_none(
    shell: Shell, sweep: Path, tmp_path: Path
) -> None:
    done = shell("plan", sweep, "--jobs", "2", "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    planned = json.loads(done.stdout)
    assert (planned["left"], planned["finished"], planned["jobs"]) == (8, 0, 2)
    assert planned["basis"] == "judged by trials of 0.5 s of 6 runs, 2 at a time"
    assert [point["labels"]["scheme"] for point in planned["points"]] == ["dctcp"] * 4 + ["reno"] * 4
    assert [point["estimate"] for point in planned["points"][:4]] == ["sampled"] * 2 + ["inferred", "sampled"]
    assert not (tmp_path / "out").exists()
    # Points that end within the half second of their trial have their actual cost as the estimate.
    shell("sweep", sweep, "--shard", "1/8", "--out", "out")
    (summary,) = (tmp_path / "out").glob("*/summary.json")
    hops = json.loads(summary.read_text())["engine"]["packet_hops"]
    assert planned["points"][0]["packet_hops"] == pytest.approx(hops, rel=0.5)
    assert planned["memory_mb"] >= 2 * 15  # two Python interpreters


def test_plan_and_sweep_print_the_marking_curves_of_each_scheme(shell: Shell, sweep: Path) -> None:
    for command in ("plan", "sweep"):
        said = shell(command, sweep).stdout
        assert said.count("Marking curves, ") == 2
        assert "threshold, queue" in said.partition("Marking curves, dctcp\n")[2].partition("\n\n")[0]
        assert "\nMarking curves, reno\nno marker anywhere: packets are never marked\n" in said
        # The note is below the first table alone.
        assert said.count("BDP: the link's rate") == 1


def test_marking_curves_of_a_swept_threshold_are_named_by_its_value(shell: Shell, scenario: Path) -> None:
    axes = '[sweep]\naxes = { "switch.markers.0.k" = ["15KB", "65KB"], seed = [1, 2] }\n'
    scenario.write_text(scenario.read_text() + axes)
    said = shell("plan", scenario).stdout
    assert re.findall("Marking curves.*", said) == ["Marking curves, k 15KB", "Marking curves, k 65KB"]


def test_at_most_eight_tables_of_marking_curves_are_printed(shell: Shell, scenario: Path) -> None:
    values = [f"{15 + number}KB" for number in range(10)]
    scenario.write_text(
        f'{scenario.read_text()}[sweep]\naxes = {{ "switch.markers.0.k" = {json.dumps(values)} }}\n'
    )
    said = shell("plan", scenario).stdout
    assert said.count("Marking curves, k ") == 8
    assert "and 2 more: `shallows run` with --scheme or --set prints those of one run" in said


def test_a_plan_prints_what_a_run_says_of_computed_values(shell: Shell, sweep: Path) -> None:
    pool = 'set = { "switch.markers" = ["bcc"] }'
    sweep.write_text(sweep.read_text().replace('name = "dctcp"\nset = {}', f'name = "dctcp"\n{pool}'))
    ran = shell("run", sweep, "--scheme", "dctcp").stdout
    (note,) = [line for line in ran.splitlines() if line.startswith("bcc at to-host ports")]
    assert note in shell("plan", sweep).stdout.splitlines()


def test_a_run_of_one_scheme_has_its_keys_and_its_name(shell: Shell, sweep: Path, tmp_path: Path) -> None:
    assert shell("run", sweep, "--scheme", "reno", "--out", "reno").returncode == 0
    run = sh.Run(tmp_path / "reno")
    assert run.summary["marking_curves"] == []
    assert run.labels == {"scheme": "reno"}
    # It is the same run as that of the sweep with the same values.
    point = next(p for p in plan(Source.read(sweep), None)[1] if p.source.labels["scheme"] == "reno")
    same = [
        f"{key}={value}"
        for key, value in point.source.overrides
        if key not in {"tcp.congestion", "switch.markers"}
    ]
    arguments = [word for text in same for word in ("--set", text)]
    assert shell("run", sweep, "--scheme", "reno", *arguments, "--out", "same").returncode == 0
    assert json.loads((tmp_path / "same/env.json").read_text())["hash"] == point.hash


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tahoe", "unknown scheme 'tahoe'\n  the schemes are: dctcp, reno"),
        ("ren", "unknown scheme 'ren'; did you mean 'reno'?"),
    ],
)
def test_an_unknown_scheme_is_refused(shell: Shell, sweep: Path, name: str, message: str) -> None:
    refused = shell("run", sweep, "--scheme", name)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert message in refused.stderr


def test_a_scheme_that_cannot_run_is_refused_with_its_line(shell: Shell, sweep: Path) -> None:
    sweep.write_text(sweep.read_text().replace('"tcp.congestion" = "reno"', '"tcp.congestion" = "rino"'))
    refused = shell("run", sweep, "--scheme", "reno")
    assert 'scheme "reno", tcp.congestion' in refused.stderr


INFERRED = Cost(1e6, 10.0, 100.0, "inferred")


def points(many: Path, finished: int = 0) -> list[Point]:
    """Return eighteen points of one scheme, the first `finished` of which have finished."""
    _, found = plan(Source.read(many), None)
    for point in found[:finished]:
        point.is_finished = True
    return found[:18]


def test_a_scenario_without_a_sweep_is_one_run(shell: Shell, scenario: Path, tmp_path: Path) -> None:
    planned = shell("plan", scenario, "--json")
    assert planned.returncode == 0, planned.stderr
    document = json.loads(planned.stdout)
    (point,) = document["points"]
    assert (document["left"], document["jobs"], point["labels"], point["estimate"]) == (1, 1, {}, "sampled")
    assert not (tmp_path / "runs").exists()
    shell("run", scenario)
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name == point["folder"]
    # It ends within its half second, so its actual cost is the estimate.
    hops = sh.Run(folder).summary["engine"]["packet_hops"]
    assert point["packet_hops"] == hops
    said = shell("plan", scenario, "--set", "workload.0.flows=30").stdout
    assert said.startswith("\nMarking curves\n")
    assert re.search(
        r"\n\nruns/small-\w+-s1: one run, [\d.]+ k packet-hops, about .* s and .* MB of memory "
        r"\(judged by a trial of 0\.5 s\)\n"
        r"it runs on one thread: no link joins two switches\n\Z",
        said,
    )
    for arguments, expected in [
        (["--shard", "1/2"], "--shard needs a scenario with a [sweep] table; "),
        (["--set", "workload.0.lod=1"], "--set workload.0.lod=1: workload[0].lod: unknown key"),
    ]:
        refused = shell("plan", scenario, *arguments)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert expected in refused.stderr


def test_a_run_that_cannot_fit_is_refused_by_itself(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_mb", lambda: 250.0)
    source = Source.read(scenario)
    alone = Point(source, source.parse().hash, tmp_path / "run", is_finished=False)
    estimate.refuse_what_cannot_fit([alone], [Cost(1e6, 2.0, 200.0, "sampled")], 2)
    with pytest.raises(ShallowsError) as refused:
        estimate.refuse_what_cannot_fit([alone], [Cost(1e6, 2.0, 300.0, "sampled")], 2)
    assert refused.value.message == "the run needs 300 MB of memory; 250 MB are free"
    assert "more memory" in refused.value.remedy


def test_time_and_memory_add_up(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "cores", lambda: 4)
    costs: list[Cost | None] = [Cost(1e6, 2.0, 100.0 + index, "sampled") for index in range(18)]
    needs = estimate.add_up(points(many, finished=2), costs, 4)
    # Sixteen points of two seconds, four at a time; the four largest have 114 to 117 MB.
    assert (needs.left, needs.finished, needs.packet_hops, needs.wall_s) == (16, 2, 16e6, 8.0)
    assert needs.memory_mb == 114 + 115 + 116 + 117
    # More jobs than cores take more memory, not less time.
    assert estimate.add_up(points(many), costs, 16).wall_s == 9.0
    # The sweep takes at least as long as its longest point.
    costs[17] = Cost(1e6, 60.0, 100.0, "sampled")
    assert estimate.add_up(points(many), costs, 4).wall_s == 60.0


def test_what_cannot_fit_is_refused_with_what_does(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_mb", lambda: 250.0)
    costs: list[Cost | None] = [Cost(1e6, 2.0, 100.0, "sampled")] * 18
    estimate.refuse_what_cannot_fit(points(many), costs, 2)
    with pytest.raises(ShallowsError, match="3 simultaneous points need 300 MB of memory") as refused:
        estimate.refuse_what_cannot_fit(points(many), costs, 3)
    assert refused.value.remedy == "run fewer points at a time: --jobs 2"
    huge: list[Cost | None] = [Cost(1e6, 2.0, 300.0, "sampled")] * 18
    with pytest.raises(ShallowsError, match="takes 300 MB") as refused:
        estimate.refuse_what_cannot_fit(points(many), huge, 1)
    assert "more memory" in refused.value.remedy


def test_a_control_group_limits_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_control_groups", lambda: [tmp_path])
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("300000000\n")
    assert memory.available_mb() > 100
    (tmp_path / "memory.max").write_text("400000000\n")
    (tmp_path / "memory.stat").write_text("anon 250000000\ninactive_file 50000000\n")
    assert memory.available_mb() == pytest.approx(150.0)


def test_the_live_view_says_done_failed_running_speed_and_time_left() -> None:
    running = {0: {"fraction": 0.5, "packet_hops": 3_000_000}, 3: {"fraction": 0.5, "packet_hops": 1_000_000}}
    # Two halves in ten seconds: the other two and three whole points take forty.
    assert describe_sweep(5, running, [], 10.0) == (
        "0 of 5 runs done, 2 running, 400 k packet-hops/s, 40 s left"
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('name = "reno"', 'name = "dctcp"', 'two schemes have the name "dctcp"'),
        (
            "workload.0.load",
            "workload.0.lod",
            "sweep.toml:30: sweep.axes, workload.0.lod = 0.3: workload[0]",
        ),
        ('"tcp.congestion"', '"tcp.congstion"', 'scheme "reno", tcp.congstion = "reno": tcp.congstion'),
    ],
)
def test_a_mistake_in_the_table_is_shown_where_it_is(
    shell: Shell, sweep: Path, old: str, new: str, expected: str
) -> None:
    sweep.write_text(sweep.read_text().replace(old, new))
    for command in ("plan", "sweep"):
        refused = shell(command, "sweep.toml")
        assert (refused.returncode, refused.stdout) == (1, "")
        assert expected in refused.stderr
        assert "Traceback" not in refused.stderr


def test_a_limit_of_address_space_bounds_the_free_memory() -> None:
    code = "from shallows.runs.memory import available_mb; print(available_mb())"

    def free(limit: str) -> float:
        command = ["sh", "-c", f"ulimit -v {limit}; exec {sys.executable} -c '{code}'"]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    # ulimit -v counts in KiB; what the interpreter has mapped is used already.
    assert 0 < free("800000") < 800_000 * 1024 / 1e6


ENDLESS_SAMPLES = {"measure.sample_queues": "1ns", "stop.at": "10000s"}
"""Settings that record 10^13 samples of a port: at 32 bytes each, 320 TB."""


def test_plan_and_run_refuse_what_cannot_fit_in_the_same_words(scenario: Path, shell: Shell) -> None:
    asked = [part for key, value in ENDLESS_SAMPLES.items() for part in ("--set", f'{key}="{value}"')]
    refused = [re.sub("[0-9.]+ .B are free", "", shell(c, scenario, *asked).stderr) for c in ("plan", "run")]
    assert refused[0].startswith(
        "shallows: the run needs at least 320 TB of memory; ; 10000000000000 samples of one port"
    )
    assert refused[0] == refused[1]
    with pytest.raises(ShallowsError) as by_python:
        sh.run(scenario, ENDLESS_SAMPLES)
    assert re.sub("[0-9.]+ .B are free", "", f"shallows: {by_python.value}\n") == refused[0]


def test_plan_and_sweep_refuse_what_cannot_fit_in_the_same_words(
    sweep: Path, shell: Shell, tmp_path: Path
) -> None:
    asked = [part for key, value in ENDLESS_SAMPLES.items() for part in ("--set", f'{key}="{value}"')]
    refused = [re.sub("[0-9.]+ .B are free", "", shell(c, sweep, *asked).stderr) for c in ("plan", "sweep")]
    assert "simultaneous points need at least" in refused[0]
    assert "; the largest point, dctcp, load 0.3, seed 1, takes" in refused[0]
    assert refused[0] == refused[1]
    with pytest.raises(ShallowsError) as by_python:
        sh.sweep(sweep, ENDLESS_SAMPLES, out=tmp_path / "out")
    assert re.sub("[0-9.]+ .B are free", "", f"shallows: {by_python.value}\n") == refused[0]
    assert not (tmp_path / "out").exists()


def test_what_a_trial_extrapolates_is_a_warning_as_the_run_is_started(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source.read(scenario)
    experiment = source.parse()
    need = memory.need_of(experiment)
    alone = Point(source, experiment.hash, tmp_path / "run", is_finished=False, need=need)
    needs = estimate.add_up([alone], [Cost(1e6, 2.0, 2.12e6, "sampled")], None)
    estimate.refuse_what_cannot_fit([alone], estimate.from_finished([alone]), None)
    assert needs.warning().startswith("warning: the sweep needs an estimated 2.12 TB of memory; ")
    monkeypatch.setattr(estimate, "available_mb", lambda: 2.2e6)
    assert needs.warning() == ""
    assert sh.run(scenario, out=tmp_path / "run").summary["engine"]["packet_hops"] > 0


def test_points_are_tried_as_many_at_a_time_as_the_sweep_runs(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Three points of one scheme are tried; the fourth of four cores has one of them once more.
    alive, given = [0], []

    class Fake:
        """Mock of a process that has run half of its point when it is first read."""

        def __init__(self) -> None:
            alive[0] += 1
            self.pipe, other = Pipe(duplex=False)
            other.send(None)

        def give(self, _: object, source: Source, threads: int) -> None:
            given.append((source.labels["seed"], threads))

        def receive(self) -> list[dict[str, float]]:
            assert alive[0] == 4, "all are busy until the last has been seen"
            seen = {"fraction": 0.5, "wall_s": 1.0, "packet_hops": 100.0}
            return [seen | {"middle": 0.2, "middle_mb": 40.0, "memory_mb": 40.0}]

        def stop(self) -> None:
            alive[0] -= 1

    monkeypatch.setattr(estimate, "Child", Fake)
    monkeypatch.setattr(estimate, "cores", lambda: 4)
    monkeypatch.setattr(estimate, "threads_of_each", lambda *_: 1)
    found = points(many)
    costs = estimate.sample(found, lambda _: None, jobs=6)
    first, middle, last = (found[index].source.labels["seed"] for index in (0, 8, 17))
    assert (given, alive) == ([(first, 1), (middle, 1), (last, 1), (first, 1)], [0])
    assert [cost.source for cost in costs if cost].count("sampled") == 3


def test_plan_and_the_live_view_reckon_with_the_same_pace(many: Path) -> None:
    # One of five points took ten seconds, one at a time: the other four take forty.
    found = points(many, finished=1)[:5]
    needs = estimate.add_up(found, [Cost(1e6, 10.0, 100.0, "measured"), *[INFERRED] * 4], 1)
    assert needs.wall_s == estimate.time_left(10.0, worked=1.0, left=4.0) == 40.0
    running = {0: {"fraction": 1.0, "packet_hops": 1_000_000}}
    assert describe_sweep(5, running, [], 10.0).endswith(", 40 s left")
