"""Tests of lossless classes in the advisor: from a fabric or a configuration to the simulated scenario."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import shallows as sh
from shallows import _core
from shallows.advisor.advice_tables import decisions
from shallows.advisor.advised import advised
from shallows.advisor.advising import prepare
from shallows.advisor.answer import Answer
from shallows.advisor.candidates import Curve, candidates
from shallows.advisor.carried import carry
from shallows.advisor.configured import configured, target_of
from shallows.advisor.fabric import Fabric
from shallows.advisor.lossless import Groups
from shallows.advisor.race import Drop, Progress, Race
from shallows.advisor.readers import read, sonic
from shallows.advisor.recommendation import recommend
from shallows.advisor.robustness import check
from shallows.advisor.simulated import assumptions, document, lossless_memory, sweep_text
from shallows.advisor.simulated_groups import needed
from shallows.advisor.today import today_of
from shallows.errors import ShallowsError
from shallows.runs.source import Source
from shallows.runs.toml_text import toml_document
from shallows.sweeps.points import plan
from shallows.sweeps.sweeps import choose_engine

EXAMPLES = Path(__file__).parents[2] / "experiments" / "advisor"
ROCE = EXAMPLES / "roce-400g.json"

FOUR: dict[str, Any] = {
    "name": "four",
    "chip": {"memory": "16MB", "ports": 16, "cell": 256, "marks_at": "enqueue"},
    "links": {"rate": "100Gbps", "rtt": "12us", "delay": "500ns", "mtu": 4096},
    "buffer": {"pool": "4MB", "ports_per_pool": 16},
    "lossless": {"alpha": 0.125},
    "simulated": {"hosts": 8, "flows": 200},
    "class": [
        {"name": "web", "share": 0.2, "weight": 8},
        {"name": "storage", "share": 0.3, "weight": 18, "lossless": True},
        {"name": "training", "share": 0.5, "weight": 22, "lossless": True},
    ],
}


def four(**changes: Any) -> Fabric:
    """Return a fabric with a lossy and two lossless classes, and these tables replaced."""
    return Fabric.from_dict(copy.deepcopy(FOUR) | changes)


def of_config(**changes: Any) -> tuple[Fabric, list[str]]:
    """Return the fabric of the RoCE configuration with one class in queue 3, and the notes."""
    given: dict[str, Any] = {
        "name": "roce",
        "chip": "tomahawk4",
        "links": {"rate": "400Gbps", "rtt": "10us", "delay": "200ns", "mtu": 1500},
        "buffer": {"pool": "60MB", "ports_per_pool": 32},
        "simulated": {"hosts": 8, "flows": 100},
        "class": [{"queue": 3}],
    }
    return carry(read(str(ROCE)), Fabric.from_dict(given | changes))


def parsed(fabric: Fabric) -> _core.Experiment:
    first = candidates(fabric)[0]
    return _core.parse(toml_document(document(fabric, first, 0.5)) + "\n", "fabric.toml", ".", [], None)


def test_lossless_classes_have_their_queues_at_switches_and_nics() -> None:
    scenario = document(four(), candidates(four())[0], 0.5)
    assert scenario["switch"]["lossless"]["classes"] == [1, 2]
    assert scenario["switch"]["lossless"]["alpha"] == 0.125
    assert scenario["switch"]["buffer"]["cell"] == "256B"
    # Quanta in proportion to the weights 8, 18 and 22.
    assert scenario["switch"]["port"]["quantum"] == ["4096B", "9216B", "11264B"]
    assert scenario["host"]["nic"]["port"] == scenario["switch"]["port"]
    assert {each["at"] for each in scenario["switch"]["markers"]} == {"enqueue"}


def test_the_shared_memory_is_that_of_the_fabric_for_any_delay_of_hosts() -> None:
    for rtt in ("2us", "12us", "40us"):
        fabric = four(links=FOUR["links"] | {"rtt": rtt})
        # Eight of sixteen ports share half of the 4 MB. Every port has groups of two classes.
        (row,) = json.loads(parsed(fabric).pause_thresholds())
        assert row["shared_bytes"] == pytest.approx(2e6, abs=8 * 2 * 256)
        (headroom,) = json.loads(parsed(fabric).headrooms())
        assert headroom["headroom_bytes"] == headroom["needed_bytes"] >= needed(fabric)


def test_a_setting_with_more_headroom_shares_less() -> None:
    fabric = four(lossless={"headroom": "100KB"})
    first = candidates(fabric)[0]

    def shared(groups: Groups) -> int:
        text = toml_document(document(fabric, replace(first, groups=groups), 0.5))
        experiment = _core.parse(text + "\n", "fabric.toml", ".", [], None)
        return int(json.loads(experiment.pause_thresholds())[0]["shared_bytes"])

    # Two classes at eight ports: 16 times 50 KB.
    assert shared(Groups(headroom=100_000)) - shared(Groups(headroom=150_000)) == pytest.approx(
        800_000, abs=4096
    )
    # Half of a pool of 1 MB for sixteen ports, instead of 16 times 100 KB.
    pooled = Groups(headroom=100_000, pool=1_000_000)
    assert shared(pooled) - shared(Groups(headroom=100_000)) == pytest.approx(1_100_000, abs=4096)


def test_a_given_headroom_grows_by_what_arrives_during_the_delay_of_hosts() -> None:
    fabric = four(lossless={"headroom": "60KB"})
    made = lossless_memory(fabric, candidates(fabric)[0])
    # 2.5 us in the host, and 0.33 us of jitter of a NIC for a packet of 4,134 B, both ways at 12.5 B/ns.
    delay = (12e-6 - 4 * 500e-9) / 4 + 4134 * 8 / 100e9
    assert made.own == 60_000
    assert made.simulated - made.own == pytest.approx(2 * delay * 12.5e9, rel=0.01)


def test_every_point_of_the_race_is_accepted_by_the_engine(tmp_path: Path) -> None:
    for fabric in (
        four(),
        four(links=FOUR["links"] | {"uplinks": {"count": 4, "rate": "400Gbps"}, "ports": 28}),
        four(**{"class": [each | {"lossless": True} for each in FOUR["class"]]}),
        four(traffic={"incast": {"senders": 7, "class": "training"}}),
    ):
        text = sweep_text(fabric, candidates(fabric), fabric.loads, [1])
        _, points = plan(Source("race.toml", text), tmp_path)
        assert len(points) == len(candidates(fabric)) * len(fabric.loads)


def test_candidates_have_enough_headroom_and_no_marks_at_dequeue() -> None:
    fabric, _ = of_config(buffer={"pool": "60MB", "ports_per_pool": 32, "marks": ["queue", "sojourn"]})
    found = candidates(fabric)
    assert {each.groups.headroom for each in found if each.groups} == {None}
    assert "TCN" not in {each.name for each in found}
    # α limits the queues of lossy classes only, so no setting names it.
    assert all(", α" not in each.text for each in found)


def test_a_configuration_gives_classes_groups_and_weights() -> None:
    fabric, notes = of_config()
    assert fabric.lossless == (0,)
    assert fabric.groups == Groups(1.0, None, 1270, 50_000, 8_000_000, 0, 2540)
    assert any("The headroom of 50 KB is less than the 82.6 KB" in note for note in notes)
    today = prepare(fabric, ROCE).today
    assert today is not None
    assert "PFC α 1, headroom 50 KB, pool of headroom 8 MB" in today.text


def test_what_is_not_carried_over_is_named() -> None:
    _, notes = of_config(
        buffer={"pool": "30MB", "ports_per_pool": 32},
        links={"rate": "400Gbps", "rtt": "10us", "delay": "1us"},
        **{
            "class": [
                {"queue": 0, "name": "web", "share": 0.5, "lossless": True},
                {"name": "b", "share": 0.5},
            ]
        },
    )
    for text in (
        "Lossless queues 3 of the configuration carry no class",
        "web: lossless in the fabric's file, but not in the configuration",
    ):
        assert any(text in note for note in notes), text
    _, notes = of_config(
        buffer={"pool": "30MB", "ports_per_pool": 32},
        links={"rate": "400Gbps", "rtt": "10us", "delay": "1us"},
    )
    for text in (
        "Pool ingress_lossless_pool of the configuration has 60 MB; the 30 MB",
        "cables of 40 m (200 ns); the simulated links have 1000 ns",
    ):
        assert any(text in note for note in notes), text


def test_keys_of_the_fabric_override_the_configuration() -> None:
    fabric, _ = of_config(lossless={"alpha": 0.25, "headroom": "auto"})
    assert (fabric.groups.alpha, fabric.groups.headroom, fabric.groups.reserved) == (0.25, None, 1270)


def test_a_table_of_priority_groups_without_a_lossless_class_is_named() -> None:
    lossy = [each | {"lossless": False} for each in FOUR["class"]]
    assert any(
        "[lossless] of the fabric's file has no effect" in text
        for text in assumptions(four(**{"class": lossy}))
    )


def test_assumptions_name_lossless_classes_and_their_limits() -> None:
    told = " ".join(assumptions(four(buffer=FOUR["buffer"] | {"reserved": "4KB"})))
    for text in (
        "PFC pauses the senders of storage, training",
        "RoCE and DCQCN are not simulated, nor is a PFC watchdog",
        "The delays of hosts (2.5 µs) are on their links",
        "The reserved buffer of queues (buffer.reserved) is not simulated",
        "one switch with 8 hosts, which all send to each other",
    ):
        assert text in told


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lossless": {"alpha": 0.3}}, "alpha must be a power of two from 1/128 to 8"),
        ({"lossless": {"alpha": 1, "limit": "1MB"}}, "limit must be left out, because alpha is given"),
        ({"lossless": {"headroom": "much"}}, "headroom must be"),
        ({"lossless": {"classes": [3]}}, "unknown key 'classes'"),
        ({"lossless": {"watchdog": {}}}, "watchdog is not simulated: its times are longer"),
        ({"chip": {"memory": "16MB", "compares": "after"}}, "compares must be one of with, before"),
    ],
)
def test_values_that_no_switch_has_are_rejected(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ShallowsError, match=message):
        four(**changes)


def test_a_rate_without_a_response_time_and_too_much_headroom_are_rejected() -> None:
    fabric = four(links=FOUR["links"] | {"rate": "7Gbps"})
    with pytest.raises(ShallowsError, match=r"IEEE 802\.3 has a response time, got 7 Gbps"):
        document(fabric, candidates(fabric)[0], 0.5)
    fabric = four(lossless={"headroom": "10KB"})
    first = candidates(fabric)[0]
    with pytest.raises(ShallowsError, match="leaves no memory to share"):
        document(fabric, replace(first, groups=Groups(headroom=10_000_000)), 0.5)


def test_a_simulated_candidate_with_enough_headroom_loses_nothing(tmp_path: Path) -> None:
    fabric = four(buffer={"pool": "1MB", "ports_per_pool": 16})
    run = sh.Scenario.from_dict(document(fabric, candidates(fabric)[-1], 0.8)).run(out=tmp_path / "run")
    classes = run.summary["lossless"]
    assert sum(each["pauses"] for each in classes.values()) > 0
    assert all(each["dropped"] == 0 for each in classes.values())


def test_weights_alpha_and_headroom_are_varied_together() -> None:
    fabric = four(buffer={"pool": "8MB", "ports_per_pool": 16}, lossless={"xon": "1KB"})
    base = next(each for each in candidates(fabric) if each.name == "standard")
    found = [each for each in candidates(fabric) if each.name.startswith("standard, ") and each.groups]
    told = {(each.weights, each.groups.alpha, each.groups.pool) for each in found if each.groups}
    half = 16 * 2 * needed(fabric) // 2
    # Two weightings, three values of α and two kinds of headroom; the standard setting is one of the twelve.
    assert told >= {
        (weights, alpha, pool)
        for weights in (None, (20.0, 30.0, 50.0))
        for alpha in (0.25, 1.0, 4.0)
        for pool in (None, half)
        if (weights, alpha, pool) != (None, 1.0, None)
    }
    assert {each.queues for each in found if each.alpha == base.alpha} == {base.queues}
    fixed = candidates(four(lossless={"alpha": 0.5, "headroom": "auto"}))
    assert not [each.name for each in fixed if "PFC α" in each.name or "pool of headroom" in each.name]


def test_marks_before_pauses_are_a_rule_and_a_candidate_of_lossless_classes_only() -> None:
    classes = [each | {"lossless": True} for each in FOUR["class"]]
    fabric = four(lossless={"alpha": 1}, **{"class": classes})
    # αB/(n·(1 + cα)) for B = 4 MB, n = 16 ports and c = 3 classes is 62.5 KB of memory; a packet of 4,134 B
    # takes 17 cells of 256 B.
    below = 4e6 / 16 / 4 * 4134 / 4352
    (rule,) = [each for each in advised(fabric) if each.name == "K, marks before pauses"]
    assert rule.number == pytest.approx(below, abs=256)
    (first,) = [each for each in candidates(fabric) if each.name == "ECN first"]
    assert first.queues[0] is not None
    assert below - 512 < first.queues[0].kmin <= below
    assert "ECN first" not in {each.name for each in candidates(four())}


def race_of(fabric: Fabric, names: list[str], tmp_path: Path) -> Race:
    wanted = [each for each in candidates(fabric) if each.name in names]
    return Race(fabric, wanted, tmp_path, choose_engine("local", 1))


def test_a_candidate_that_loses_lossless_packets_cannot_win(tmp_path: Path) -> None:
    # A pool of headroom with room for one of sixteen groups; the small α makes many of them pause at once.
    fabric = four(buffer={"pool": "600KB", "ports_per_pool": 16}, traffic={"load": [0.9]}, goal="throughput")
    standard = next(each for each in candidates(fabric) if each.name == "no ECN")
    starved = replace(standard, name="starved", groups=replace(fabric.groups, alpha=1 / 128, pool=80_000))
    race = Race(fabric, [starved, standard], tmp_path, choose_engine("local", 1))
    race.run(0.0, lambda *_: None)
    assert race.kept == ["no ECN"]
    assert "dropped at 90 % load, seed 1" in race.invalid["starved"]
    found = recommend(race)
    assert found.candidate.name == "no ECN"
    assert found.of("starved").invalid
    assert any("These settings cannot win" in reason and "starved" in reason for reason in found.reasons)
    table = decisions(Answer(fabric, race=race, recommendation=found))
    assert table.columns[-2:] == ["pauses, 90 %", "time paused, 90 %"]
    by_name = {row[0]: row for row in table.rows}
    assert by_name["starved"][1] == "invalid"
    assert float(by_name["no ECN"][-2].replace(",", "")) > 0


def test_pauses_can_be_the_goal(tmp_path: Path) -> None:
    # Without ECN, the senders are paused; a port threshold of 60 KB marks long before.
    fabric = four(
        buffer={"pool": "1MB", "ports_per_pool": 16}, traffic={"load": [0.9]}, goal="pauses, then time paused"
    )
    off = next(each for each in candidates(fabric) if each.name == "no ECN")
    marks = replace(off, name="marks", queues=tuple(Curve(60_000, 60_000, 1.0) for _ in fabric.classes))
    race = Race(fabric, [off, marks], tmp_path, choose_engine("local", 1))
    race.run(0.0, lambda *_: None)
    race.go_on([each.name for each in race.candidates], 2, Progress(2, 2, 2, 0.0), lambda *_: None)
    marked, unmarked = (race.value(race.objectives[0], name) for name in ("marks", "no ECN"))
    assert marked is not None
    assert unmarked is not None
    assert marked < unmarked / 2
    found = recommend(race)
    assert found.candidate.name == "marks"
    assert found.reasons[0].startswith("The setting was chosen by pauses at 90 % load: ")
    table = decisions(Answer(fabric, race=race, recommendation=found))
    assert table.columns.count("pauses, 90 %") == 1


def test_a_goal_for_pauses_needs_a_lossless_class() -> None:
    lossy = [each | {"lossless": False} for each in FOUR["class"]]
    with pytest.raises(ShallowsError, match="goal: 'time paused' needs a lossless class"):
        prepare(four(goal="time paused", **{"class": lossy}))
    assert prepare(four(goal="time paused")).fabric.goals[0].said == "time paused"


def test_the_limit_of_a_group_is_compared_as_on_the_chip() -> None:
    def compared(chip: object) -> str | None:
        fabric = four(chip=chip)
        table: dict[str, Any] = document(fabric, candidates(fabric)[0], 0.5)["switch"]["lossless"]
        found: str | None = table.get("compares")
        return found

    assert [compared(chip) for chip in ("tomahawk2", "tomahawk3", "tomahawk4")] == ["before", "with", None]
    assert compared(FOUR["chip"] | {"compares": "before"}) == "before"
    assert "the rule of this chip is unknown (chip.compares)" in " ".join(assumptions(four()))
    assert "before the arriving packet, as on this chip" in " ".join(assumptions(four(chip="tomahawk2")))


def test_a_recommendation_that_loses_packets_in_a_changed_fabric_flips(tmp_path: Path) -> None:
    fabric = four(buffer={"pool": "600KB", "ports_per_pool": 16}, traffic={"load": [0.9]}, goal="throughput")
    other = next(each for each in candidates(fabric) if each.name == "no ECN")
    starved = replace(other, name="starved", groups=replace(fabric.groups, alpha=1 / 128, pool=80_000))
    race = Race(fabric, [other, replace(other, name="third", alpha=1.0)], tmp_path, choose_engine("local", 1))
    race.run(0.0, lambda *_: None, 1)
    found = recommend(race)
    standing = replace(found.standing, candidate=starved)
    found = replace(found, candidate=starved, standings=(standing, *found.standings[1:]))
    once = iter([True])
    (effect,) = check(
        found, fabric, tmp_path, choose_engine("local", 1), lambda: next(once, False), lambda *_: None, 1
    )
    assert effect.flips
    assert "; invalid: " in effect.text
    assert "dropped at 95 % load, seed 1" in effect.text


def test_a_candidate_that_only_an_invalid_one_had_beaten_comes_back(tmp_path: Path) -> None:
    fabric = four()
    race = race_of(fabric, ["standard", "conservative", "no ECN"], tmp_path)
    race.run(0.0, lambda *_: None, 1)
    # "conservative" was dropped before the second round, in which "no ECN" lost packets.
    race.drops, race.kept = [Drop("conservative", "no ECN", 1, 0.95, ())], ["standard"]
    race.invalid["no ECN"] = "lost"
    progress = Progress(2, 1, 3, 0.0)
    race.go_on(["standard"], 1, progress, lambda *_: None)
    assert race.kept == ["standard", "conservative"]
    assert race.seeds("conservative") == race.seeds("standard") == 2
    assert race.drops == []


def test_headroom_below_what_can_arrive_cannot_win_even_if_no_run_loses(tmp_path: Path) -> None:
    fabric, _ = of_config()
    today, _ = today_of(read(str(ROCE)), fabric)
    other = candidates(fabric)[0]
    race = Race(fabric, [today, other], tmp_path, choose_engine("local", 1))
    assert race.kept == [other.name]
    assert race.invalid == {"today": "headroom 50 KB, but 82.6 KB can arrive"}
    race.run(0.0, lambda *_: None)
    # The current setting is simulated all the same, because the answer compares with it.
    assert {*race.measured[0.8]} == {"today", other.name}


def test_a_race_without_a_valid_candidate_is_an_error(tmp_path: Path) -> None:
    fabric = four(lossless={"headroom": "10KB"})
    race = race_of(fabric, ["standard"], tmp_path)
    with pytest.raises(ShallowsError, match="every setting may lose packets of lossless classes; standard: "):
        race.run(0.0, lambda *_: None)


def test_the_change_sets_weights_groups_and_headroom_and_shrinks_the_pool() -> None:
    switch = read(str(ROCE))
    fabric, _ = of_config()
    chosen = next(
        each for each in candidates(fabric) if each.name == "standard, PFC α 1/4, headroom of each group"
    )
    made = configured("sonic", switch, fabric, chosen)
    changes = {each["path"]: each.get("value") for each in json.loads(made.change)}
    profile, pool = "/BUFFER_PROFILE/pg_lossless", "/BUFFER_POOL/ingress_lossless_pool"
    own = needed(fabric)
    assert changes[f"{profile}/dynamic_th"] == "-2"
    assert changes[f"{profile}/xoff"] == str(own)
    # Four groups with headroom of their own replace a pool of 8 MB.
    assert changes[f"{pool}/size"] == str(60_000_000 - (4 * own - 8_000_000))
    assert f"{pool}/xoff" in changes
    # The queue of a lossless class keeps its limit, which is the whole pool.
    assert not [path for path in changes if "egress_lossless" in path]
    weighed = target_of(switch, fabric, replace(chosen, weights=(37.0,)))
    assert {queue.scheduler.weight for _, queue in weighed.queues() if queue.scheduler} == {37}


def test_new_weights_keep_the_names_of_schedulers_whose_queues_change_together() -> None:
    def change(of_queues: dict[int, str]) -> dict[str, Any]:
        tables = {
            "PORT": {"Ethernet0": {"speed": "100000"}},
            "SCHEDULER": {name: {"type": "DWRR", "weight": "8"} for name in sorted({*of_queues.values()})},
            "QUEUE": {f"Ethernet0|{queue}": {"scheduler": name} for queue, name in of_queues.items()},
        }
        switch = sonic.read(json.dumps(tables), "config_db.json")
        fabric, _ = carry(switch, four())
        first = candidates(fabric)[0]
        chosen = replace(first, queues=(None,) * 3, pool=None, weights=(20.0, 30.0, 50.0))
        found = json.loads(configured("sonic", switch, fabric, chosen).change)
        return {each["path"]: each.get("value") for each in found if "SCHEDULER" in each["path"]}

    assert change({0: "a", 1: "b", 2: "c"}) == {
        "/SCHEDULER/a/weight": "20",
        "/SCHEDULER/b/weight": "30",
        "/SCHEDULER/c/weight": "50",
    }
    shared = change({0: "a", 1: "a", 2: "c"})
    assert "/SCHEDULER/a/weight" not in shared
    assert shared["/SCHEDULER/c/weight"] == "50"


@pytest.mark.parametrize("format_", ["sonic", "eos", "avd", "nvue", "nxos", "junos", "tc"])
def test_without_a_configuration_the_change_has_lossless_classes_and_names_what_it_lacks(
    format_: str,
) -> None:
    fabric = four()
    chosen = candidates(fabric)[-1]
    assert chosen.groups is not None
    assert chosen.groups.pool is not None
    made = configured(format_, None, fabric, chosen)
    assert any(text.startswith("pool of headroom 2.64 MB") for text in made.left_out)
    if format_ == "sonic":
        tables = json.loads(made.change)
        assert {row["weight"] for row in tables["SCHEDULER"].values()} == {"20", "30", "50"}
        # α = 1/8, and what the smallest packets need in cells.
        group = tables["BUFFER_PROFILE"]["shallows_pg"]
        assert group == {"dynamic_th": "-3", "xoff": str(needed(fabric))}


def test_the_current_setting_needs_no_change() -> None:
    fabric, _ = of_config()
    today, _ = today_of(read(str(ROCE)), fabric)
    assert target_of(read(str(ROCE)), fabric, today) == read(str(ROCE))
