"""Tests of the cookbook's and papers' fabrics: they run, and the advice is no worse than papers' settings."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fake_races import fabric as small
from shallows.advisor import writers
from shallows.advisor.advised import chosen_alpha
from shallows.advisor.advising import unfit
from shallows.advisor.candidates import Candidate, Curve, candidates
from shallows.advisor.chips import chip
from shallows.advisor.configuration import Scope, Source, Switch
from shallows.advisor.configured import configured, target_of
from shallows.advisor.explain import explain
from shallows.advisor.fabric import Fabric
from shallows.advisor.race import Race, run_set
from shallows.advisor.readers import read, reader
from shallows.advisor.recommendation import recommend
from shallows.advisor.resolved import Hints, resolve
from shallows.advisor.today import today_of
from shallows.comparison.verdicts import judge
from shallows.errors import ShallowsError
from shallows.sweeps.sweeps import choose_engine
from sonic_files import leaf, written

EXAMPLES = Path(__file__).parents[2] / "experiments" / "advisor"


def raced(fabric: Fabric, field: list[Candidate], folder: Path, rounds: int) -> Race:
    """Run a race of these candidates to its end, and return it."""
    race = Race(fabric, field, folder, choose_engine("local"))
    race.run(1e6, lambda *_: None, rounds)
    return race


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_fabric_of_the_cookbook_is_raced(path: Path, tmp_path: Path) -> None:
    whole = Fabric.load(path)
    hosts = 32 if whole.incast else 8
    # Without bounds, because twenty flows cannot keep one.
    fabric = whole.changed(hosts=hosts, flows=24, loads=(0.5,), goals=whole.goals[1:], links=whole.links)
    fabric = fabric.changed(goals=tuple(replace(goal, load=None, weight=None) for goal in fabric.goals))
    race = raced(fabric, candidates(fabric)[:3], tmp_path, 1)
    found = recommend(race)
    assert found.candidate in race.candidates
    # Twenty flows are too few for a p99.
    told = [each for standing in found.standings for each in standing.beside]
    assert all((each.value is None) == each.objective.metric.is_percentile for each in told)


def test_incasts_are_the_queries_that_a_goal_names(tmp_path: Path) -> None:
    incast = {"senders": 4, "size": "20KB"}
    of = small(
        traffic={"load": [0.5], "incast": incast}, simulated={"hosts": 8, "flows": 24}, goal="mean of queries"
    )
    race = raced(of, candidates(of)[:2], tmp_path, 1)
    [means] = [each for each in race.objectives if each.metric.name == "query_us.all.mean"]
    # 80 KB and headers at 10 Gb/s take 64 µs at least.
    assert all(found is not None and found > 64 for found in (race.value(means, name) for name in race.kept))


# Enough flows to show the cost of a queue without marks.
PAPERS: dict[str, dict[str, Any]] = {
    # BCC §III-C: 720 KB for each port, and its own curve of the pool.
    "BCC": {
        "chip": "tomahawk",
        "links": {"rate": "100Gbps", "rtt": "80us", "mtu": 9000},
        "buffer": {"pool": "3MiB", "ports_per_pool": 8, "reserved": "128KiB", "alpha": 4},
        "simulated": {"flows": 150},
    },
    # DCTCP §4: 65 packets at 10 Gb/s, in 4 MB.
    "standard": {
        "chip": {"memory": "4MB", "ports": 24, "cell": 208},
        "links": {"rate": "10Gbps", "rtt": "100us"},
        "buffer": {"pool": "4MB", "alpha": 1},
        "simulated": {"flows": 1000},
    },
}


@pytest.mark.parametrize("setting", PAPERS)
def test_on_papers_own_fabrics_the_recommendation_is_no_worse_than_their_setting(
    setting: str, tmp_path: Path
) -> None:
    shared = {"traffic": {"load": 0.8}, "class": [{}], "goal": {"p99 of small flows": 1, "throughput": 1}}
    fabric = Fabric.from_dict({"name": "paper", **PAPERS[setting], **shared})
    wanted = {setting, "conservative", "fluid", "no ECN", "step of 300 KB"}
    field = [each for each in candidates(fabric) if each.name in wanted]
    race = raced(fabric, field, tmp_path, 3)
    found = recommend(race)
    for beside in found.of(setting).beside:
        assert beside.verdict != "better", beside.change_text
    # Without marks, the queue fills the buffer, so this setting must never be recommended.
    assert found.candidate.name != "no ECN"


def test_in_a_random_fabric_no_other_setting_is_better_by_more_than_nobody_would_notice(
    tmp_path: Path,
) -> None:
    draw = random.Random(7)  # noqa: S311
    fabric = Fabric.from_dict(
        {
            "name": "random",
            "chip": {"memory": f"{draw.randint(1, 4)}MB", "ports": 8, "cell": 208},
            "links": {"rate": draw.choice(["10Gbps", "25Gbps"]), "rtt": f"{draw.randint(20, 100)}us"},
            "buffer": {"alpha": 2.0 ** draw.randint(-1, 3)},
            "traffic": {"load": draw.randint(5, 8) / 10},
            "class": [{"sizes": "web-search"}],
            "goal": "throughput",
            "simulated": {"hosts": 8, "flows": 60},
        }
    )
    field = candidates(fabric)[::6]
    found = recommend(raced(fabric, field, tmp_path / "race", 3))
    # All of them, under more seeds and other ones.
    longer = run_set(
        fabric,
        field,
        [fabric.loads[0]],
        range(11, 17),
        tmp_path / "all",
        choose_engine("local"),
        lambda *_: None,
        [found.decided_by.metric],
    ).measured[fabric.loads[0]]
    for other in field:
        pairs = list(zip(longer[found.candidate.name].values(), longer[other.name].values(), strict=True))
        change = judge(found.decided_by.metric, pairs, 1 - 0.05 / len(field)).change
        assert change is not None
        assert change.high > -0.03, f"{other.name} is faster than {found.candidate.name} by {change}"


def switch_of(name: str) -> Switch:
    """Return the configuration of a candidate with this name: a step at 300,000 bytes on queue 3."""
    fabric = queue_three()
    curve = Curve(300_000, 300_000)
    return target_of(None, fabric, Candidate(name, "made up", "today", (curve,), 2.0))


def queue_three() -> Fabric:
    """Return a fabric with one class, in queue 3."""
    found = Fabric.load(EXAMPLES / "tomahawk-bcc.toml")
    return found.changed(classes=(replace(found.classes[0], queue=3),))


def test_what_runs_today_is_a_candidate_with_its_own_numbers() -> None:
    fabric = queue_three()
    today, notes = today_of(switch_of("x"), fabric)
    assert today.queues == (Curve(300_000, 300_000),)
    assert today.alpha == 2.0
    assert notes == []
    # It is not rounded: it runs as it is.
    assert candidates(fabric, today)[0] is today


def test_an_unread_line_about_marking_is_among_what_is_assumed_of_today() -> None:
    line = Source("leaf.cfg", "7", "random-detect later ecn", Scope(queue=3))
    _, notes = today_of(replace(switch_of("x"), unread=(line,)), queue_three())
    assert any("The current setting of queue 3 is not fully known: leaf.cfg:7" in each for each in notes)
    other = replace(line, scope=Scope(queue=1))
    _, notes = today_of(replace(switch_of("x"), unread=(other,)), queue_three())
    assert not any("not fully known" in each for each in notes)


def test_a_switch_without_queues_is_no_setting_of_today() -> None:
    with pytest.raises(ShallowsError, match="has no ports with queues"):
        today_of(Switch("eos"), queue_three())


@pytest.mark.parametrize("format_", writers.FORMATS)
def test_a_change_is_written_in_every_format_and_what_it_cannot_say_is_named(format_: str) -> None:
    fabric = queue_three()
    bcc = candidates(fabric)[0]
    made = configured(format_, None, fabric, bcc)
    assert made.change.strip()
    # Only EOS and AVD mark by the pool, and neither has a probability there.
    assert any("pool" in each for each in made.left_out)


def test_the_change_keeps_a_profiles_name_and_takes_back_what_it_sets() -> None:
    fabric = queue_three()
    before = switch_of("x")
    conservative = next(each for each in candidates(fabric) if each.name == "conservative")
    made = configured("eos", before, fabric, conservative)
    curve = conservative.queues[0]
    assert curve is not None
    assert f"minimum-threshold {curve.kmin} bytes" in made.change
    assert "300 kbytes" not in made.change
    assert "minimum-threshold 300 kbytes" in made.rollback
    after = target_of(before, fabric, conservative)
    assert [each.name for each in after.markings] == [each.name for each in before.markings]


def sonic_profile(**fields: str) -> Switch:
    """Return a switch in which queue 3 has a profile with a curve for green packets, and these fields."""
    curve = {"ecn": "ecn_green", "green_min_threshold": "1000", "green_max_threshold": "2000"}
    tables = {
        "PORT": {"Ethernet0": {"speed": "100000"}},
        "WRED_PROFILE": {"TCP": curve | {"green_drop_probability": "5"} | fields},
        "QUEUE": {"Ethernet0|3": {"wred_profile": "TCP"}},
    }
    return reader("sonic").read(json.dumps(tables), "config_db.json")


def fields_of(change: str) -> dict[str, str]:
    """Return the fields of the profile that a patch changes, with their new values or the operation."""
    return {
        each["path"].rpartition("/")[2]: each.get("value", each["op"])
        for each in json.loads(change)
        if each["path"].startswith("/WRED_PROFILE/TCP/")
    }


def test_a_change_for_sonic_is_three_numbers_and_leaves_wred_and_colours_as_they_are() -> None:
    # Without wred_green_enable, some platforms mark nothing, unlike the simulation.
    fabric = queue_three()
    step = Candidate("made up", "", "today", (Curve(300_000, 300_000),), 2.0)
    numbers = {
        "green_min_threshold": "300000",
        "green_max_threshold": "300000",
        "green_drop_probability": "100",
    }
    on = configured("sonic", sonic_profile(wred_green_enable="true"), fabric, step)
    assert fields_of(on.change) == numbers
    assert on.others == ""
    yellow = {"yellow_min_threshold": "500", "yellow_max_threshold": "700", "wred_yellow_enable": "true"}
    coloured = configured("sonic", sonic_profile(wred_green_enable="true", **yellow), fabric, step)
    assert fields_of(coloured.change) == numbers
    off = configured("sonic", sonic_profile(), fabric, step)
    assert fields_of(off.change) == numbers
    assert "some platforms mark nothing" in off.others


def test_a_queue_of_which_sonic_says_nothing_takes_from_the_pool_of_the_others() -> None:
    tables = leaf()
    for table in ("QUEUE", "BUFFER_QUEUE", "BUFFER_PG"):
        tables[table] = {key: row for key, row in tables[table].items() if key.endswith("|0")}
    before = reader("sonic").read(json.dumps(tables), "config_db.json")
    step = Candidate("made up", "", "today", (Curve(300_000, 300_000),), 4.0)
    made = configured("sonic", before, queue_three(), step)
    [profile] = [
        each["value"] for each in json.loads(made.change) if each["path"].startswith("/BUFFER_PROFILE/")
    ]
    assert profile == {"pool": "egress_lossy_pool", "size": "1664", "dynamic_th": "2"}
    assert not any("sonic-buffer-profile" in each for each in made.left_out)
    bare = configured("sonic", sonic_profile(), queue_three(), step)
    assert any("sonic-buffer-profile.yang wants pool and size" in each for each in bare.left_out)


def test_a_change_that_does_not_fit_the_file_is_said_with_the_row_that_is_missing(tmp_path: Path) -> None:
    step = Candidate("made up", "", "today", (Curve(300_000, 300_000),), 8.0)
    tables = leaf()
    rows = {"Ethernet0,Ethernet4|3": tables["QUEUE"]["Ethernet0|3"]}
    for keys, said in ((tables["QUEUE"], None), (rows, "the file has no /QUEUE/Ethernet0|3")):
        tables["QUEUE"] = keys
        path = written(tables, tmp_path)
        before = read(path)
        none = configured("sonic", before, queue_three(), replace(step, queues=(None,)))
        found = unfit(none, before, str(path))
        assert (found is None) if said is None else (found or "").startswith(said)
    foreign = configured("nvue", before, queue_three(), step)
    assert "on no switch yet" in (unfit(foreign, before, str(path)) or "")


def test_a_profile_that_is_new_to_sonic_marks_on_every_platform() -> None:
    fabric = queue_three()
    step = Candidate("made up", "", "today", (Curve(300_000, 300_000),), 2.0)
    made = configured("sonic", None, fabric, step)
    [profile] = json.loads(made.change)["WRED_PROFILE"].values()
    assert {profile[f"wred_{colour}_enable"] for colour in ("green", "yellow", "red")} == {"true"}
    assert made.others == ""


@pytest.mark.parametrize(
    ("format_", "said"),
    [("eos", "the platform decides"), ("nvue", "pass until the limit"), ("junos", "pass until the limit")],
)
def test_where_others_than_those_simulated_pass_it_is_said(format_: str, said: str) -> None:
    step = Candidate("made up", "", "today", (Curve(300_000, 300_000),), 2.0)
    assert said in configured(format_, None, queue_three(), step).others


def test_a_profile_that_may_let_others_pass_is_noted_where_hosts_have_such_packets() -> None:
    fabric = queue_three()
    cubic = fabric.changed(classes=(replace(fabric.classes[0], transport="cubic"),))
    for switch, notes in ((sonic_profile(), 1), (sonic_profile(wred_green_enable="true"), 0)):
        assert sum("are not ECN-capable" in each for each in today_of(switch, cubic)[1]) == notes
        assert not any("are not ECN-capable" in each for each in today_of(switch, fabric)[1])


def test_what_a_format_rounds_is_a_setting_of_its_own() -> None:
    fabric = queue_three()
    ramp = next(each for each in candidates(fabric) if each.name == "ramp, 25 %")
    rounded = configured("junos", None, fabric, ramp).rounded
    # Fill levels are whole percent of what the queue may hold; bytes and probabilities stay as they are.
    assert rounded is not None
    assert rounded.queues[0] is not None
    assert ramp.queues[0] is not None
    assert rounded.queues[0] != ramp.queues[0]
    assert rounded.queues[0].pmax == ramp.queues[0].pmax == 0.25
    for format_ in ("eos", "nvue", "sonic"):
        assert configured(format_, None, fabric, ramp).rounded is None
    assert rounded.alpha == chosen_alpha(fabric)


def test_junos_gets_thresholds_in_percent_of_what_its_queue_may_hold() -> None:
    fabric = queue_three()
    bcc = candidates(fabric)[0]
    curve = bcc.queues[0]
    assert curve is not None
    made = configured("junos", None, fabric, bcc)
    most = bcc.alpha * fabric.buffer.pool / (1 + bcc.alpha) + fabric.buffer.reserved
    low, high = (round(100 * end / most) for end in (curve.kmin, curve.kmax))
    assert f"fill-level [ {low} {high} ]" in made.change
    assert any("while it is the only busy one" in each for each in made.left_out)
    # Read back it is what the percent come to, and simulated as that.
    assert made.rounded is not None
    assert made.rounded.queues[0] is not None
    assert made.rounded.queues[0].kmin == pytest.approx(low * most / 100, abs=1)


def test_what_is_set_already_is_not_set_again() -> None:
    fabric = queue_three()
    before = switch_of("x")
    today, _ = today_of(before, fabric)
    assert target_of(before, fabric, today) == before


def test_a_lossless_class_is_told_of_headroom_and_of_pauses_before_marks_until_both_are_mended(
    tmp_path: Path,
) -> None:
    def found(text: str) -> dict[str, str]:
        path = tmp_path / "config_db.json"
        path.write_text(text, encoding="utf-8")
        hints = Hints(chip=chip("tomahawk4"), rtt=10_000_000)
        return {each.code: each.what for each in explain(resolve(read(str(path)), hints)).findings}

    text = (EXAMPLES / "roce-400g.json").read_text(encoding="utf-8")
    before = found(text)
    # 3 · 1538 + 1 B of frames, 84 of PAUSE, 2 · 40 m of fibre at 50 B/ns, 905 · 64 B of response.
    assert "50 KB of headroom" in before["headroom-insufficient"]
    assert "82.6 KB may arrive" in before["headroom-insufficient"]
    # αB/(1 + nα) of 60 MB with α = 1 and eight groups.
    assert "8 busy priority groups, PFC pauses each at 6.67 MB" in before["pause-before-mark"]
    assert "not-ect-dropped" in before
    mended = (
        text.replace('"50000"', '"100000"')
        .replace('"2000000"', '"400000"')
        .replace('"10000000"', '"1600000"')
    )
    after = found(mended)
    assert not {"headroom-insufficient", "pause-before-mark"} & {*after}
    assert "not-ect-dropped" in after
