"""Tests of inconsistent fields, each reported until it is corrected, and of references to missing objects."""

import json
from collections.abc import Callable

import pytest

from shallows.advisor.explain import Explanation, explain
from shallows.advisor.readers import sonic
from shallows.advisor.resolved import resolve
from shallows.advisor.writers import write
from sonic_files import PORTS, Tables, leaf

Change = Callable[[Tables], object]


def explained(*changes: Change) -> Explanation:
    tables = leaf()
    for change in changes:
        change(tables)
    return explain(resolve(sonic.read(json.dumps(tables), "config_db.json")))


def found(code: str, *changes: Change) -> list[str]:
    return [each.what for each in explained(*changes).findings if each.code == code]


def fields(table: str, row: str, **values: object) -> Change:
    return lambda tables: tables.setdefault(table, {}).setdefault(row, {}).update(values)


def watched(priorities: str, ports: list[str] = PORTS) -> Change:
    def change(tables: Tables) -> None:
        for port in ports:
            tables["PORT_QOS_MAP"][port]["pfcwd_sw_enable"] = priorities

    return change


def test_a_fixed_limit_in_a_dynamic_pool_is_found_and_the_reverse() -> None:
    assert found("mode-mismatch") == []
    fixed = found("mode-mismatch", fields("BUFFER_POOL", "egress_lossless_pool", mode="dynamic"))
    assert fixed == [
        "queue 3: egress_lossless_profile has a fixed limit of 16 MB, but pool egress_lossless_pool has "
        "dynamic thresholds"
    ]
    share = found("mode-mismatch", fields("BUFFER_POOL", "egress_lossy_pool", mode="static"))
    assert share == [
        "queue 0: egress_lossy_profile has α = 8, but pool egress_lossy_pool has static thresholds"
    ]


def test_priorities_of_pfc_that_no_watchdog_watches_are_found() -> None:
    # qosorch.cpp: the mask of pfcwd_sw_enable is 0 unless said, and pfcwdorch.cpp watches those priorities.
    assert found("no-watchdog") == [
        "Ethernet0 and 3 more ports: pfc_enable has priorities 3, but pfcwd_sw_enable does not"
    ]
    assert found("no-watchdog", watched("4")) == found("no-watchdog")
    assert found("no-watchdog", watched("3", PORTS[1:])) == [
        "Ethernet0: pfc_enable has priorities 3, but pfcwd_sw_enable does not"
    ]
    assert found("no-watchdog", watched("3,4")) == []


def test_a_class_that_is_counted_in_another_priority_group_is_found() -> None:
    assert found("group-mismatch") == []
    moved = fields("TC_TO_PRIORITY_GROUP_MAP", "AZURE", **{"3": "4"})
    assert found("group-mismatch", moved) == [
        "class 3 uses lossless queue 3 and priority group 4, but priority 3 is paused by priority group 3"
    ]

    def mapped(tables: Tables) -> None:
        moved(tables)
        tables["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"] = {"AZURE": {"3": "4"}}
        for port in PORTS:
            tables["PORT_QOS_MAP"][port]["pfc_to_pg_map"] = "AZURE"

    assert found("group-mismatch", mapped) == []
    switch = explained(mapped).resolved.switch
    assert switch.unread == ()
    again = json.loads(write("sonic", None, switch).change)
    assert again["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"] == {"AZURE": {"3": "4"}}


def test_a_pool_without_a_size_is_found_unless_the_switch_computes_it() -> None:
    def bare(tables: Tables) -> None:
        del tables["BUFFER_POOL"]["ingress_lossless_pool"]["size"]

    # saibuffer.h: SAI_BUFFER_POOL_ATTR_SIZE is MANDATORY_ON_CREATE; buffermgrdyn gives it if it is dynamic.
    assert found("pool-without-size", bare) == ["pool ingress_lossless_pool has no size"]
    dynamic = fields("DEVICE_METADATA", "localhost", buffer_model="dynamic")
    assert found("pool-without-size", bare, dynamic) == []
    assert any("size of pool" in each.what for each in explained(bare, dynamic).resolved.switch.defaults)
    assert found("pool-without-size") == []


@pytest.mark.parametrize(
    ("value", "code"), [("[]", "bracketed-reference"), ("", "empty-reference"), (" ", "empty-reference")]
)
def test_a_reference_to_nothing_binds_nothing_and_is_said_once(value: str, code: str) -> None:
    def change(tables: Tables) -> None:
        for port in PORTS:
            tables["QUEUE"][f"{port}|0"]["wred_profile"] = value

    explanation = explained(change)
    assert explanation.resolved.switch.unread == ()
    assert {each["queue"]: each["marks"] for each in explanation.document()["classes"]} == {0: "no", 3: "yes"}
    (said,) = [each for each in explanation.findings if each.code == code]
    assert said.what == f'wred_profile is "{value.strip()}" in 4 rows'
    # parseReference of orch.cpp refuses brackets since release 202111, and its callers fail on an empty name.
    assert "applies no field of such a row" in said.why
    assert said.severity == "warning"


def test_a_name_in_brackets_is_read_and_said_to_be_refused_by_later_releases() -> None:
    def change(tables: Tables) -> None:
        tables["QUEUE"][f"{PORTS[0]}|0"]["wred_profile"] = "[WRED_PROFILE|LOSSY]"

    explanation = explained(change)
    assert {each["queue"]: each["marks"] for each in explanation.document()["classes"]} == {
        0: "yes",
        3: "yes",
    }
    assert [each.what for each in explanation.findings if each.code == "bracketed-reference"] == [
        'wred_profile is "[WRED_PROFILE|LOSSY]" in 1 row'
    ]


def test_a_profile_that_is_not_there_is_no_default_of_its_queue() -> None:
    explanation = explained(fields("QUEUE", f"{PORTS[0]}|0", wred_profile="GONE"))
    defaults = [each.what for each in explanation.resolved.switch.defaults]
    assert not any(what.startswith("marking of queues") for what in defaults)
    assert "Whether queue 0 marks is not known: config_db.json:QUEUE|Ethernet0|0" in explanation.verdict
