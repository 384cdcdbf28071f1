"""Tests of SONiC's files: values that are read, values listed as unread, and errors with their place."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shallows.advisor.configuration import Curve, Maps, Scheduler, Switch, Threshold
from shallows.advisor.explain import explain
from shallows.advisor.readers import read, sonic
from shallows.advisor.resolved import resolve
from shallows.errors import ShallowsError
from sonic_files import PORTS, Tables, curve, leaf, written

Change = Callable[[Tables], object]


def switch(tables: Tables) -> Switch:
    return sonic.read(json.dumps(tables), "config_db.json")


def changed(*changes: Change) -> Switch:
    tables = leaf()
    for change in changes:
        change(tables)
    return switch(tables)


def test_all_of_a_leafs_tables_are_understood_and_its_ports_are_one_profile() -> None:
    found = switch(leaf())
    assert found.unread == ()
    assert found.notes == ()
    # Values: 4 cables, 2 × 13 of curves, 4 of schedulers, 4 + 3 + 3 of pools, 3 + 3 + 6 of profiles,
    # 8 of queues' buffers, 4 of groups, 16 of queues, 12 of maps by port, 4 of maps.
    assert found.understood == 4 + 26 + 4 + 10 + 12 + 8 + 4 + 16 + 12 + 4
    (profile,) = found.profiles
    assert profile.ports == tuple(PORTS)
    assert (profile.rate, profile.mtu, profile.pfc) == (100 * 10**9, 9100, (3,))
    assert profile.cable == 40
    assert profile.maps == Maps((), ((0, 0), (3, 3)), ((0, 0), (3, 3)), ())
    assert (found.name, found.platform, found.chip) == ("leaf1", "Arista-7060CX-32S-C32", "tomahawk")


def test_a_queue_has_what_three_tables_say_of_it() -> None:
    lossy, lossless = switch(leaf()).profiles[0].queues
    assert (lossy.number, lossy.marking, lossy.lossless) == (0, "LOSSY", False)
    assert lossy.scheduler == Scheduler("dwrr", 14)
    assert lossy.allotment is not None
    assert lossy.allotment.alpha == 8
    assert lossy.allotment.pool == "egress_lossy_pool"
    assert (lossless.number, lossless.lossless) == (3, True)
    assert lossless.allotment is not None
    assert lossless.allotment.limit == Threshold.of_bytes(15_982_720)


@pytest.mark.parametrize("table", ["QUEUE", "BUFFER_QUEUE", "BUFFER_PG"])
def test_a_row_whose_key_names_no_port_is_listed(table: str) -> None:
    # Templates that are rendered without ports leave such keys.
    found = changed(lambda tables: tables[table].update({"|4": {**next(iter(tables[table].values()))}}))
    assert found.profiles == switch(leaf()).profiles
    assert {each.place.partition(" ")[0] for each in found.unread} == {f"{table}||4"}
    assert [note.code for note in found.notes] == ["not-valid"]


def test_maps_and_limits_of_no_port_are_listed() -> None:
    for table, fields in (
        ("PORT_QOS_MAP", {"pfc_enable": "3", "pfcwd_sw_enable": "3"}),
        ("BUFFER_PORT_EGRESS_PROFILE_LIST", {"profile_list": "egress_lossy_profile"}),
    ):
        tables = leaf()
        tables.setdefault(table, {})[""] = fields
        found = switch(tables)
        assert (found.profiles, found.settings) == (switch(leaf()).profiles, switch(leaf()).settings)
        assert [each.place.split("|")[0] for each in found.unread] == [table] * len(fields)


def test_a_priority_group_has_its_headroom() -> None:
    (group,) = switch(leaf()).profiles[0].groups
    sizes = (group.xoff, group.xon, group.xon_offset)
    assert sizes == (Threshold.of_bytes(165_568), Threshold.of_bytes(2288), Threshold.of_bytes(2288))
    assert group.allotment is not None
    assert group.allotment.alpha == 1
    assert switch(leaf()).pools[0].headroom == 4_194_112


@pytest.mark.parametrize(
    ("ecn", "enabled", "marks", "drops"),
    [
        # The four cases of sonic-mgmt's test plan; `None` is the platform's.
        ("ecn_all", "true", True, True),
        ("ecn_all", "false", True, None),
        ("ecn_none", "true", False, True),
        ("ecn_none", "false", False, False),
        ("ecn_yellow_red", "true", False, True),
        ("ecn_green", "false", True, None),
    ],
)
def test_green_marks_and_drops_as_ecn_and_wred_say(
    ecn: str, enabled: str, marks: bool, drops: bool | None
) -> None:
    def change(tables: Tables) -> None:
        tables["WRED_PROFILE"]["LOSSY"] |= {"ecn": ecn, "wred_green_enable": enabled}

    marking = changed(change).marking("LOSSY")
    assert marking is not None
    green = next(each for each in marking.curves if each.colour == "green")
    assert (green.marks_ect, green.drops_not_ect) == (marks, drops)


def test_what_nobody_wrote_is_a_default_and_no_curve() -> None:
    found = changed(lambda tables: tables["WRED_PROFILE"].update(LOSSY={"ecn": "ecn_green"}))
    marking = found.marking("LOSSY")
    assert marking is not None
    # Without WRED, the platform decides; without thresholds, the start of the curve is unknown.
    assert marking.curves == (Curve(None, None, Fraction(1), "green", True, None),)
    assert {each.what for each in found.defaults} >= {
        "green_drop_probability of LOSSY",
        "wred_green_enable of LOSSY",
        "weight of all profiles",
    }


def test_blanks_around_a_value_are_cut_off_and_noted_with_their_place() -> None:
    found = changed(lambda tables: tables["WRED_PROFILE"].update(LOSSY=curve(" 166912", "282624")))
    marking = found.marking("LOSSY")
    assert marking is not None
    assert marking.curves[0].minimum == Threshold.of_bytes(166_912)
    assert [note.code for note in found.notes] == ["value-with-blank"] * 3
    assert str(found.notes[0].source) == "config_db.json:WRED_PROFILE|LOSSY green_min_threshold"


def test_numbers_may_be_numbers_and_references_may_stand_in_brackets() -> None:
    def change(tables: Tables) -> None:
        tables["WRED_PROFILE"]["LOSSY"] = curve(208_000, 208_000, 100, wred="False")
        for name in PORTS:
            tables["QUEUE"][f"{name}|0"] = {
                "scheduler": "[SCHEDULER|scheduler.0]",
                "wred_profile": "[WRED_PROFILE|LOSSY]",
            }

    assert changed(change) == switch(leaf())


def test_ranges_and_lists_of_ports_are_the_same_as_each_of_them() -> None:
    def spelt(tables: Tables) -> None:
        tables["QUEUE"] |= {f"{name}|1": {"scheduler": "scheduler.0"} for name in PORTS}
        tables["QUEUE"] |= {f"{name}|2": {"scheduler": "scheduler.0"} for name in PORTS}

    def short(tables: Tables) -> None:
        tables["QUEUE"][f"{','.join(PORTS)}|1-2"] = {"scheduler": "scheduler.0"}

    assert changed(spelt) == changed(short)
    assert [queue.number for queue in changed(short).profiles[0].queues] == [0, 1, 2, 3]


def test_a_global_map_holds_for_all_ports_and_for_none_that_has_its_own() -> None:
    def change(tables: Tables) -> None:
        tables["DSCP_TO_TC_MAP"] = {"AZURE": {"3": "3"}, "OWN": {"3": "0"}}
        tables["PORT_QOS_MAP"]["global"] = {"dscp_to_tc_map": "AZURE"}
        tables["PORT_QOS_MAP"][PORTS[0]]["dscp_to_tc_map"] = "OWN"

    found = changed(change)
    assert {profile.ports: profile.maps.dscp_to_class for profile in found.profiles} == {
        (PORTS[0],): ((3, 0),),
        tuple(PORTS[1:]): ((3, 3),),
    }


def test_a_port_that_differs_is_a_profile_of_its_own() -> None:
    found = changed(lambda tables: tables["PORT"][PORTS[1]].update(speed="25000"))
    assert [(profile.ports, profile.rate) for profile in found.profiles] == [
        ((PORTS[0], *PORTS[2:]), 100 * 10**9),
        ((PORTS[1],), 25 * 10**9),
    ]


@pytest.mark.parametrize(
    ("table", "row", "field", "value"),
    [
        ("QUEUE", "Ethernet0|0", "wred_profile", "GONE"),
        ("QUEUE", "Ethernet0|5-2", "scheduler", "scheduler.0"),
        ("QUEUE", "Ethernet0|0-99999999", "scheduler", "scheduler.0"),
        ("WRED_PROFILE", "LOSSY", "green_min_threshold", "1MB"),
        ("WRED_PROFILE", "LOSSY", "green_min_threshold", "-1"),
        ("WRED_PROFILE", "LOSSY", "green_ect_min_threshold", "1"),
        ("WRED_PROFILE", "LOSSY", "green_drop_probability", "101"),
        ("WRED_PROFILE", "LOSSY", "ecn", "ecn_purple"),
        ("BUFFER_PROFILE", "egress_lossy_profile", "dynamic_th", "9"),
        ("BUFFER_PROFILE", "egress_lossy_profile", "static_th", "9"),
        ("SCHEDULER", "scheduler.0", "weight", "0"),
        ("SCHEDULER", "scheduler.0", "weight", ["1"]),
        ("CABLE_LENGTH", "AZURE", "Ethernet0", "far"),
        ("TC_TO_QUEUE_MAP", "AZURE", "x", "1"),
        ("QUEUE_OF_TOMORROW", "a", "b", "c"),
        ("PORT_QOS_MAP", "Ethernet0", "pfc_enable", "three"),
    ],
)
def test_what_is_not_understood_is_listed_with_its_place(
    table: str, row: str, field: str, value: object
) -> None:
    found = changed(lambda tables: tables.setdefault(table, {}).setdefault(row, {}).update({field: value}))
    assert f"{table}|{row} {field}" in [source.place for source in found.unread]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda tables: tables["QUEUE"].update({"Ethernet0|7": "scheduler.0"}), "QUEUE|Ethernet0|7"),
        (lambda tables: tables.update(BUFFER_POOL=["a"]), "BUFFER_POOL"),
    ],
)
def test_rows_and_tables_that_are_none_are_listed(change: Change, place: str) -> None:
    assert place in [source.place for source in changed(change).unread]


def test_other_tables_are_nobodys_business() -> None:
    found = changed(lambda tables: tables.update(BGP_NEIGHBOR={"10.0.0.1": {"asn": "65001"}}))
    assert found.unread == ()
    assert found == switch(leaf())


def test_settings_of_many_ports_are_one() -> None:
    found = changed(lambda tables: tables.update(PFC_WD={name: {"action": "drop"} for name in PORTS}))
    (setting,) = found.settings
    assert (setting.name, setting.value, setting.scope) == ("pfc-watchdog.action", "drop", ",".join(PORTS))


def test_files_of_one_switch_are_read_together(tmp_path: Path) -> None:
    tables = leaf()
    for name in ("BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_QUEUE", "BUFFER_PG", "CABLE_LENGTH"):
        written({name: tables.pop(name)}, tmp_path, f"{name.lower()}_buffers.json")
    written(tables, tmp_path, "qos.json")
    assert read(tmp_path) == switch(leaf())
    assert read(sorted(tmp_path.iterdir())) == switch(leaf())


def test_ten_thousand_ports_are_read_at_once() -> None:
    def change(tables: Tables) -> None:
        names = [f"Ethernet{number}" for number in range(10_000)]
        tables["QUEUE"] = {
            f"{name}|{queue}": {"scheduler": "scheduler.0", "wred_profile": "LOSSY"}
            for name in names
            for queue in range(2)
        }
        tables["PORT"] = {name: {"speed": "100000"} for name in names}
        for table in ("BUFFER_QUEUE", "BUFFER_PG", "PORT_QOS_MAP", "CABLE_LENGTH"):
            del tables[table]

    found = changed(change)
    (profile,) = found.profiles
    assert (len(profile.ports), len(profile.queues)) == (10_000, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ASIC_CONFIG/qos.json", "config_db.json is not JSON: line 1, column 1: Expecting value"),
        (
            json.dumps(leaf())[:200],
            "config_db.json is not JSON: line 1, column 200: Unterminated string",
        ),
        (
            '{"QUEUE":' + "[" * 100_000,
            "config_db.json is not JSON: lists or objects are nested too deeply",
        ),
        (
            '{"QUEUE": {"a|1": {"b": "\\ud800"}}}',
            "config_db.json is not JSON: a string has a lone surrogate",
        ),
        ('{"BGP_NEIGHBOR": {}}', "config_db.json has no table of queues or buffers"),
        ("[]", "config_db.json must contain a JSON object of tables"),
        ('{"QUEUE": {"a|1": {"b": ' + "9" * 5000 + "}}}", "config_db.json is not JSON: "),
    ],
)
def test_what_is_no_configuration_is_refused_with_place_and_remedy(text: str, message: str) -> None:
    with pytest.raises(ShallowsError) as caught:
        sonic.read(text, "config_db.json")
    assert caught.value.message.startswith(message)
    assert "sonic-cfggen" in caught.value.remedy


def test_a_file_that_nobody_knows_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("bring milk")
    with pytest.raises(ShallowsError, match=r"the format of .*notes is unknown"):
        read(tmp_path / "notes")
    (tmp_path / "notes").unlink()
    with pytest.raises(ShallowsError, match="contains no file"):
        read(tmp_path)
    with pytest.raises(ShallowsError, match="cannot be read"):
        read(tmp_path / "gone.json")


Json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.sampled_from(["3-4", "AZURE", "true", "ecn_all"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "profile",
                    "scheduler",
                    "pfc_enable",
                    "green_min_threshold",
                    "Ethernet0|3",
                    "0",
                    "ecn",
                    "pool",
                    "size",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(leaf())), Json, min_size=1))
def test_any_json_under_these_tables_is_read_or_refused(tables: Tables) -> None:
    whole = leaf() | tables
    try:
        found = switch(whole)
    except ShallowsError:
        return
    assert explain(resolve(found)).document() == explain(resolve(switch(whole))).document()
