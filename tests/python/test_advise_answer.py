"""Tests of an answer of the advisor: its runs, variations, page, and the command that prints it."""

import itertools
import json
import math
import re
from pathlib import Path
from typing import Any, cast

import pytest

import shallows as sh
from fake_races import LOAD, SMALL, fabric, made_up, noisy
from shallows.advisor import robustness
from shallows.advisor.advice_page import page
from shallows.advisor.answer import Answer, answer
from shallows.advisor.candidates import candidates
from shallows.advisor.goals import LOSS, TAIL, THROUGHPUT
from shallows.advisor.race import Objective, Race
from shallows.advisor.recommendation import recommend
from shallows.advisor.undecided import Undecided, undecided
from shallows.cli import main
from shallows.errors import ShallowsError
from shallows.runs.threads import cores
from shallows.runs.toml_text import toml_document
from shallows.sweeps.points import Point
from shallows.sweeps.sweeps import choose_engine


def test_variations_are_more_load_longer_round_trips_cubic_and_wider_incast() -> None:
    of = fabric(
        traffic={"load": [0.9], "incast": {"senders": 4, "size": "20KB"}}, simulated={"hosts": 8, "flows": 40}
    )
    found = [(each.name, each.level) for each in robustness.variations(of, 0.9)]
    # 0.9 · 1.1 is above what can be offered: both become 95 %.
    assert found == [
        ("load", "95 %"),
        ("RTT", "× 1.5"),
        ("RTT", "× 2"),
        ("hosts", "half run CUBIC with ECN"),
        ("hosts", "all run CUBIC with ECN"),
        ("incast", "6 senders"),
        ("incast", "8 senders"),
    ]


def test_half_of_the_hosts_have_no_transport_of_their_own_where_classes_have() -> None:
    classes = [{"name": "a", "share": 0.5}, {"name": "b", "share": 0.5, "transport": "cubic"}]
    found = robustness.variations(fabric(**{"class": classes}), 0.5)
    assert [each.level for each in found if each.name == "hosts"] == ["all run CUBIC with ECN"]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Answer, Path]:
    """An answer from short real runs: one round with few candidates."""
    folder = tmp_path_factory.mktemp("advice")
    found = Answer(fabric(**{"name": "small <script>", "class": [{"name": "<script>alert(1)</script>"}]}))
    # A clock that advances whenever it is read: after the race there is time for one variation.
    clock = map(float, itertools.count())
    budget = 3.0
    answer(found, folder, choose_engine("local"), budget, clock.__next__, lambda *_: None, lambda *_: None, 1)
    return found, folder


def test_an_answer_has_a_sweep_that_repeats_it_and_a_page_that_runs_nothing_of_the_file(
    answered: tuple[Answer, Path],
) -> None:
    found, folder = answered
    race = found.race
    assert race is not None
    assert (folder / "race.toml").is_file()
    index = json.loads((folder / "runs" / "sweep.json").read_text(encoding="utf-8"))
    assert len(index["points"]) == len(candidates(found.fabric))
    html = page(found)
    assert "<script>alert(1)" not in html
    assert "&lt;script&gt;alert(1)" in html
    for title in (
        "Decision",
        "Frontier",
        "Marking curves",
        "Sensitivity",
        "Assumptions",
        "On the real fabric",
    ):
        assert f"<h2>{title}</h2>" in html
    assert [each.what.name for each in found.effects] == ["load"]
    json.dumps(found.document(), allow_nan=False)


def notes_of_frontiers(race: Race) -> list[str]:
    """Return the texts below the page's charts of throughput and of loss versus the tail."""
    found = Answer(race.fabric, today=race.candidates[0], race=race, recommendation=recommend(race))
    return re.findall(r"Down and left is better\.[^<]*", page(found))


FIELD = {"a": (500.0, 4000.0, 0.0), "b": (900.0, 3000.0, 0.0)}


def test_a_frontier_of_two_seeds_has_no_intervals_and_no_caption_of_them() -> None:
    # Fewer than three seeds give no interval (`intervals.FEWEST_SEEDS`).
    assert notes_of_frontiers(made_up(FIELD, 2, "throughput")) == ["Down and left is better."] * 2


def test_a_frontier_says_of_how_many_settings_it_draws_intervals() -> None:
    race = made_up(FIELD, 10, "throughput")
    bars = "Down and left is better. Bars: 95 % intervals over seeds"
    assert notes_of_frontiers(race) == [f"{bars}."] * 2
    # One of the two settings has only two seeds.
    for seed in range(3, 11):
        del race.measured[LOAD]["b"][seed]
    assert notes_of_frontiers(race) == [f"{bars}, of 1 of 2 settings."] * 2


def test_a_setting_has_the_same_colour_in_every_chart(answered: tuple[Answer, Path]) -> None:
    (document,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page(answered[0]))
    looks: dict[str, set[int]] = {}
    for drawn in json.loads(document)["charts"]:
        for line in drawn["lines"]:
            name = re.sub(", (recommended|best so far)$", "", line["name"])
            looks.setdefault(name, set()).add(line["look"])
    chosen = answered[0].chosen.name
    assert looks[chosen] == {0}
    assert {name: found for name, found in looks.items() if len(found) > 1} == {}
    # The settings whose curves are drawn have names on the frontier.
    assert len([name for name in looks if name.startswith("SONiC")]) >= 1


def test_a_race_goes_on_where_it_was(answered: tuple[Answer, Path]) -> None:
    found, folder = answered
    again = Race(found.fabric, candidates(found.fabric), folder, choose_engine("local"))
    again.run(1e6, lambda *_: None, most_rounds=1)
    assert found.race is not None
    objective = Objective(TAIL, LOAD)
    for each in again.candidates:
        assert again.value(objective, each.name) == found.race.value(objective, each.name)
    for other in (THROUGHPUT, LOSS):
        assert again.value(Objective(other, LOAD), "standard") == found.race.value(
            Objective(other, LOAD), "standard"
        )


def undecided_in(race: Race, per_run_s: float = 3.0) -> Undecided | None:
    """Return the undecided result of a race in which each run takes `per_run_s`; None if it decided."""
    race.points, race.wall_s = [cast(Point, None)] * 10, 10 * per_run_s * cores()
    return undecided(race, recommend(race), share=0.5)


def test_a_race_is_decided_once_nobody_may_be_better_by_more_than_3_percent() -> None:
    assert undecided_in(noisy({"good": 4000, "near": 4040, "far": 6000}, 10, 0.01)) is None


def test_an_undecided_race_says_how_many_minutes_more_would_decide() -> None:
    # Noise of 20 % leaves `near` open and rules out `far`: its interval must shrink to exclude 3 % less.
    race = noisy({"good": 4000, "near": 4400, "far": 9000}, 10, 0.2)
    found = undecided_in(race)
    assert found is not None
    assert found.rivals == ("near",)
    assert found.minutes is not None
    # Two candidates at one load, 3 s each, in half of the budget.
    assert found.minutes == math.ceil(found.seeds * 2 * 3 / 0.5 / 60)
    assert found.text == f"Undecided: about {found.minutes} minutes more would decide".replace(
        " 1 minutes", " 1 minute"
    )


def test_two_seeds_leave_all_settings_open_until_a_race_has_its_fewest_rounds() -> None:
    found = undecided_in(made_up(FIELD, 2, "throughput"), per_run_s=60)
    assert found is not None
    # Six seeds more of two candidates: 12 minutes of runs, in half of the budget.
    assert (found.rivals, found.seeds, found.minutes) == (("b",), 6, 24)
    assert found.text == "Undecided: about 24 minutes more would decide"


def test_settings_that_no_number_of_seeds_tells_apart_need_more_flows() -> None:
    race = noisy({"good": 4000, "near": 3880}, 10, 0.5)
    race.rounds = 64
    found = undecided_in(race)
    assert found is not None
    assert found.text == "Undecided: more seeds would not decide; raise simulated.flows"


def test_an_undecided_answer_takes_nothing(answered: tuple[Answer, Path]) -> None:
    found, _ = answered
    assert found.undecided is not None
    assert found.headline.startswith("Undecided: about ")
    assert found.undecided.text in page(found)
    document = found.document()
    assert document["headline"] == found.headline
    assert document["undecided"]["text"] in found.headline
    assert "Take " not in found.headline


def test_rules_alone_end_with_a_value_and_leave_files(tmp_path: Path) -> None:
    found = sh.advise(fabric(), to="sonic", out=tmp_path / "rules", rules_only=True)
    first = candidates(found.fabric)[0]
    assert found.headline == f"By rules alone, not simulated: {first.name}: {first.text}"
    assert sorted(path.name for path in (tmp_path / "rules").iterdir()) == [
        "advice.html",
        "advice.json",
        "change.sonic",
        "rollback.sonic",
    ]
    document = json.loads((tmp_path / "rules" / "advice.json").read_text(encoding="utf-8"))
    assert document["by_rules"]["name"] == first.name
    assert found.headline in (tmp_path / "rules" / "advice.html").read_text(encoding="utf-8")
    assert sh.advise(fabric(), rules_only=True).written == {}


def test_the_command_prints_rules_first_and_alone_if_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(__file__).parents[2] / "experiments" / "advisor" / "tomahawk-bcc.toml"
    assert main(["advise", str(path), "--rules-only", "--json", "--out", str(tmp_path / "none")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {each["name"]: round(each["number"]) for each in document["rules"]}[
        "Kmax of the pool, BCC"
    ] == 2_602_000
    assert "recommendation" not in document
    assert document["headline"].startswith("By rules alone, not simulated: BCC: ")
    assert (tmp_path / "none" / "advice.html").is_file()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"budget_s": 0.0}, "budget_s must be above 0, got 0.0"),
        ({"budget_s": -1.0}, "budget_s must be above 0, got -1.0"),
        ({"budget_s": math.nan}, "budget_s must be above 0, got nan"),
        ({"jobs": 0}, "jobs must be at least 1, got 0"),
        ({"out": 3}, "a folder must be named by a string or a Path, got 3 (int)"),
        ({"to": "ios"}, "unknown format 'ios'"),
    ],
)
def test_a_wrong_argument_of_advise_is_refused_before_anything_runs(
    wrong: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ShallowsError) as refused:
        sh.advise(fabric(), **wrong)
    assert refused.value.message == message
    assert not list(tmp_path.iterdir())


def test_advice_in_python_is_that_of_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "small.toml", tmp_path / "advice"
    path.write_text(toml_document(SMALL))
    # The first round of the race always completes; there is no time for another round, or for a variation.
    assert (
        main(["advise", str(path), "--to", "sonic", "--budget", "0.001s", "--out", str(out), "--json"]) == 0
    )
    printed = json.loads(capsys.readouterr().out)
    found = sh.advise(path, to="sonic", out=out, budget_s=0.001)
    assert found.race is not None
    assert found.race.rounds == 1
    assert json.loads(found.written["document"].read_text(encoding="utf-8")) == printed
    assert json.loads(json.dumps(found.document())) == printed
    assert {name: file.name for name, file in found.written.items()} == {
        "document": "advice.json",
        "page": "advice.html",
        "change": "change.sonic",
        "rollback": "rollback.sonic",
    }
    assert found.configured is not None
    assert found.written["change"].read_text(encoding="utf-8") == found.configured.change
