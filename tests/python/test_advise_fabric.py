"""Tests of the file of a fabric and its goals: accepted values, and errors for invalid ones."""

import copy
from pathlib import Path
from typing import Any

import pytest

import shallows as sh
from shallows.advisor import goals
from shallows.advisor.candidates import candidates
from shallows.advisor.fabric import Fabric
from shallows.advisor.simulated import assumptions, document
from shallows.cli import main
from shallows.errors import ShallowsError

EXAMPLES = Path(__file__).parents[2] / "experiments" / "advisor"

SMALL: dict[str, Any] = {
    "name": "small",
    "chip": {"memory": "4MB", "ports": 8, "cell": 208, "probabilities": [0.05, 0.1, 0.25, 1.0]},
    "links": {"rate": "10Gbps", "rtt": "100us"},
    "traffic": {"load": [0.4, 0.8]},
    "class": [{"sizes": "web-search"}],
}


def fabric(**changes: Any) -> Fabric:
    """Return the small fabric with these tables replaced."""
    return Fabric.from_dict(copy.deepcopy(SMALL) | changes)


def test_goals_are_read_as_they_are_written() -> None:
    found = goals.parse(
        "p99 of small flows of web below 1 ms at 80 % load, then throughput then loss", ["web", "db"]
    )
    assert [(each.metric.name, each.bound, each.load) for each in found] == [
        ("fct_us.small.p99@class0", 1000.0, 0.8),
        ("fct_us.large.mean", None, None),
        ("loss_rate_in_switches", None, None),
    ]
    assert goals.parse("loss below 0.1 %", [])[0].bound == pytest.approx(0.001)
    assert goals.parse("mean of queries below 500us", [])[0].bound == pytest.approx(500.0)
    found = goals.parse("pauses below 100, then time paused below 2 ms at 40 % load", [])
    assert [(each.metric.name, each.bound, each.load) for each in found] == [
        ("pauses", 100.0, None),
        ("paused_us", 2000.0, 0.4),
    ]
    assert [each.text for each in found] == ["pauses below 100", "time paused below 2 ms at 40 % load"]
    assert [each.weight for each in goals.parse({"throughput": 2, "loss": 0.5}, [])] == [2.0, 0.5]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", "goal must not be empty"),
        ("fast", "unknown measure 'fast'"),
        ("p98 of small flows", "unknown measure 'p98 of small flows'"),
        ("throughput below 1 ms", "throughput must have no bound"),
        ("p99 of small flows below 1 GB", "is not a bound of p99"),
        ("p99 of small flows below fast", "is not a bound of p99"),
        ("loss below 0.001", "is not a bound of loss"),
        ("loss at 120 % load", "got 120 %"),
        ("pauses below 1 ms", "is not a bound of pauses"),
        ("pauses below 0", "is not a bound of pauses"),
        ("time paused below 7", "is not a bound of time paused"),
        ("p99 of small flows of db", "unknown class 'db'"),
        ("loss below 1 %, then loss below 2 %", "have different bounds for one measure"),
        ("throughput, then throughput", "are the same"),
        ({"loss": -1}, "must be a number above 0"),
        ({"loss": True}, "must be a number above 0"),
        ({}, "must be a string or a table"),
        (7, "must be a string or a table"),
    ],
)
def test_goals_that_make_no_sense_are_refused(given: object, message: str) -> None:
    with pytest.raises(ShallowsError, match=message) as error:
        goals.parse(given, ["web"])
    assert error.value.remedy


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"chip": "tomahawk99"}, "unknown chip 'tomahawk99'"),
        ({"chip": 7}, "must be a name or a table"),
        ({"chip": {"memory": "4 apples"}}, 'a size such as "3MB"'),
        ({"chip": {"memory": "4MB", "colour": 1}}, "unknown key 'colour'"),
        ({"chip": "spectrum5"}, "not published"),
        ({"links": {"rate": "10Gbps"}}, "rtt is missing"),
        ({"links": {"rate": "10 parsecs", "rtt": "1us"}}, "a rate such as"),
        (
            {"links": {"rate": "10Gbps", "rtt": "1us", "delay": "1us"}},
            r"at least 4 us \(a round trip crosses",
        ),
        (
            {"links": {"rate": "10Gbps", "rtt": "80us", "host_delay": "1us"}},
            "rtt and host_delay must not be given together",
        ),
        ({"traffic": {"load": [0.4, 1.2]}}, "between 0 and 1"),
        ({"traffic": {"load": []}}, "between 0 and 1"),
        ({"traffic": {"incast": {"senders": 500}}}, "from 1 to 63"),
        ({"traffic": {"rto": "0s"}}, "a timeout from"),
        ({"class": []}, r"\[\[class\]\] is missing"),
        (
            {"class": [{"name": "a", "share": 0.5}, {"name": "a", "share": 0.5}]},
            "two classes have the name 'a'",
        ),
        ({"class": [{"name": "a", "share": 0.5}, {"name": "b", "share": 0.6}]}, "add up to 1, got 1.1"),
        ({"class": [{"transport": "quic"}]}, "one of dctcp"),
        ({"class": [{"transport": "dcqcn"}]}, "class 0: `shallows advise` does not support transport"),
        ({"class": [{"sizes": 5}]}, "a distribution"),
        ({"goal": "p99 of small flows below 10 us"}, r"\(half of the round-trip time\), because no flow"),
        ({"goal": "loss at 95 % load"}, "the highest value of traffic.load"),
        ({"goal": "p99 of queries"}, "a goal for queries needs traffic with queries"),
        ({"buffer": {"marks": ["magic"]}}, "a list with at least one of queue, pool"),
        ({"buffer": {"pool": "1B"}}, "a size from"),
        ({"name": "../up"}, "without control characters and path separators"),
        ({"name": "\x1b[31m"}, "without control characters and path separators"),
        ({"name": ".."}, r"name must be a name .*, got '\.\.'"),
        ({"name": "."}, r"name must be a name .*, got '\.'"),
        ({"surprise": 1}, "unknown key 'surprise'"),
        ({"links": []}, "must be a table"),
        ({"simulated": {"flows": 1e30}}, "from 20 to"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ShallowsError, match=message) as error:
        fabric(**changes)
    assert error.value.remedy


def test_distributions_that_the_engine_does_not_know_are_its_to_refuse() -> None:
    unknown = fabric(**{"class": [{"sizes": "no-such"}]})
    with pytest.raises(ShallowsError, match=r"the engine rejects the fabric: .*no-such"):
        document(unknown, candidates(unknown)[0], 0.5)


def test_half_a_file_and_hostile_text_are_errors_without_a_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = (EXAMPLES / "tomahawk-bcc.toml").read_text(encoding="utf-8")
    for cut in range(0, len(whole), 97):
        path = tmp_path / "half.toml"
        path.write_text(whole[:cut], encoding="utf-8")
        code = main(["advise", str(path), "--rules-only"])
        error = capsys.readouterr().err
        assert code in {0, 1}
        assert "Traceback" not in error
    for text in ("name = '\x1b[31m'\n", "chip = '" + 5000 * "x" + "'\n", "a" * 100_000, "[" * 10_000):
        path.write_text(text, encoding="utf-8")
        assert main(["advise", str(path), "--rules-only"]) == 1
        assert len(capsys.readouterr().err) < 3_000


def test_classes_with_different_transports_are_simulated_with_them_at_the_same_hosts(tmp_path: Path) -> None:
    mixed = fabric(
        traffic={"load": [0.8], "incast": {"senders": 4, "size": "20KB", "class": "b"}},
        **{"class": [{"name": "a", "share": 0.5}, {"name": "b", "share": 0.5, "transport": "cubic"}]},
    )
    scenario = document(mixed, candidates(mixed)[0], 0.8)
    assert scenario["tcp"]["congestion"] == {"kind": "dctcp"}
    own = {"congestion": {"kind": "cubic", "ecn": True}}
    assert [workload.get("tcp") for workload in scenario["workload"]] == [None, own, own]
    for workload in scenario["workload"][:2]:
        workload["flows"] = 40
    whole = sh.Scenario.from_dict(scenario).run(out=tmp_path / "mixed")
    alone = sh.Scenario.from_dict(
        scenario | {"workload": [each | {"tcp": {}} for each in scenario["workload"]]}
    ).run(out=tmp_path / "alike")
    assert whole.flows["fct_us"].to_list() != alone.flows["fct_us"].to_list()


def test_the_scenario_has_the_pool_the_round_trip_and_the_load_of_the_fabric() -> None:
    found = Fabric.load(EXAMPLES / "tomahawk-bcc.toml")
    bcc = candidates(found)[0]
    assert bcc.name == "BCC"
    scenario = sh.Scenario.from_dict(document(found, bcc, 0.8), seed=3)
    resolved = scenario.resolved
    assert scenario.seed == 3
    # Two links and two hosts, there and back: 4 · (1 + 19) µs.
    assert (resolved["topology"]["link_delay"], resolved["topology"]["host_delay"]) == ("1us", "19us")
    assert resolved["switch"]["buffer"]["pool"] == "3MB"
    assert resolved["switch"]["buffer"]["ports_per_pool"] == 8
    assert resolved["workload"][0]["load"] == 0.8
    # Eqs. 2 and 3, in whole cells of 208 B: 2.602 MB is 12,510 cells, 1.802 MB is 8,663.
    pool = resolved["switch"]["markers"][1]
    assert (pool["kmin"], pool["kmax"], pool["scope"]) == ("1801.904KB", "2602.08KB", "pool")


def test_a_smaller_pool_keeps_the_room_of_a_queue() -> None:
    wide = fabric(
        links={"rate": "100Gbps", "rtt": "80us", "mtu": 9000},
        chip={"memory": "12MB", "ports": 32, "cell": 208},
        buffer={"pool": "12MB", "ports_per_pool": 32, "alpha": 4},
    )
    bcc = next(each for each in candidates(wide) if each.pool)
    made = document(wide, bcc, 0.5)["switch"]
    # Eight of 32 ports: 3 MB. Kmax stays B_R/α = 430 KB below the end; C·N·h is that of eight ports, 800 KB.
    assert made["buffer"]["pool"] == "3000000B"
    pool = made["markers"][1]
    kmin, kmax = (int(pool[key].removesuffix("B")) for key in ("kmin", "kmax"))
    assert kmax == pytest.approx(3_000_000 - 430_000, abs=208)
    assert kmax - kmin == pytest.approx(800_000, abs=208)


def test_candidates_are_what_the_chip_can_have_and_none_is_there_twice() -> None:
    for path in sorted(EXAMPLES.glob("*.toml")):
        found = Fabric.load(path)
        made = candidates(found)
        assert len({each.name for each in made}) == len(made)
        assert len({each.settings for each in made}) == len(made)
        for each in made:
            assert each.alpha in found.silicon.alphas
            for curve in [*each.queues, each.pool]:
                if curve:
                    assert curve.kmin % found.silicon.cell == 0
                    assert curve.kmax % found.silicon.cell == 0
                    assert curve.pmax in {*found.silicon.probabilities, 1.0}


def test_probabilities_are_rounded_down_as_chips_do() -> None:
    # NX-OS' 7 % becomes 5 % on a chip that has 5, 10, 25 and 100 %.
    named = {each.name: each for each in candidates(fabric())}
    curve = named["NX-OS 150–3000 KB"].queues[0]
    assert curve is not None
    assert curve.pmax == 0.05


def test_leaves_keep_their_oversubscription_and_rules_follow_the_rate_of_a_port() -> None:
    found = Fabric.load(EXAMPLES / "leaf-spine-25g.toml")
    named = {each.name: document(found, each, 0.7) for each in candidates(found)}
    topology = named["standard"]["topology"]
    # 48 · 25 Gb/s below 8 · 100 Gb/s are 1.5 : 1; four hosts of a leaf have 100/1.5 Gb/s upwards.
    assert topology["spines"] == 1
    assert topology["uplink_rate"] == "66666666667bps"
    up = named["standard"]["switch"]["overrides"][0]
    down = named["standard"]["switch"]["markers"][0]
    ratio = int(up["markers"][0]["k"].removesuffix("B")) / int(down["k"].removesuffix("B"))
    assert ratio == pytest.approx(8 / 3, rel=0.01)
    assert named["step of 300 KB"]["switch"]["overrides"] == []


def test_classes_have_the_marks_that_the_switch_can_make() -> None:
    found = Fabric.load(EXAMPLES / "eight-classes.toml")
    kinds = {
        each.name: document(found, each, 0.5)["switch"]["markers"][0]["kind"]
        for each in candidates(found)[:8]
    }
    assert kinds["MQ-ECN"] == "mq-ecn"
    assert kinds["TCN"] == "tcn"
    assert kinds["K by weight"] == "threshold"
    plain = fabric(**{"class": [{"name": "a", "share": 0.5}, {"name": "b", "share": 0.5}]})
    assert not {"MQ-ECN", "TCN"} & {each.name for each in candidates(plain)}


def test_an_incast_of_more_hosts_than_leaves_divide_evenly_has_all_its_senders_in_the_network() -> None:
    links = SMALL["links"] | {"uplinks": {"count": 4, "rate": "40Gbps"}}
    of = fabric(links=links, traffic={"load": [0.8], "incast": {"senders": 29, "size": "20KB"}})
    scenario = document(of, candidates(of)[0], 0.8)
    # 30 hosts are eight in each of four leaves.
    assert scenario["topology"]["hosts_per_leaf"] == 8
    assert scenario["workload"][1]["workers"] == list(range(1, 30))
    sh.Scenario.from_dict(scenario)


@pytest.mark.parametrize("uplinks", [{}, {"uplinks": {"count": 4, "rate": "40Gbps"}}])
def test_every_second_host_can_run_another_transport(uplinks: dict[str, Any]) -> None:
    of = fabric(links=SMALL["links"] | uplinks).changed(every_second="cubic")
    scenario = document(of, candidates(of)[0], 0.8)
    assert scenario["tcp"]["congestion"] == {"kind": "dctcp"}
    run = sh.Scenario.from_dict(scenario | {"workload": [scenario["workload"][0] | {"flows": 40}]}).run()
    assert {*run.flows["group"]} == {"default", "cubic"}


def test_what_a_smaller_pool_lets_a_queue_hold_is_said_beside_the_switchs() -> None:
    # αB/(1 + α) with α 4: of 3 MB 2.4 MB, and of half of it, for 4 of 8 ports, 1.2 MB.
    tables = {
        "chip": "tomahawk",
        "links": {"rate": "100Gbps", "rtt": "80us"},
        "buffer": {"pool": "3MB", "ports_per_pool": 8, "alpha": 4},
        "class": [{"transport": "dctcp", "sizes": "web-search"}],
        "simulated": {"hosts": 8},
    }
    said = " ".join(assumptions(Fabric.from_dict(tables)))
    assert "2.4 MB on the switch and 1.2 MB in the simulation (α 4)" in said
