"""Tests of long configurations: time grows linearly with length, and too long ones are rejected at once."""

import gc
import json
import time
from collections.abc import Callable

import pytest

import scaled
from shallows.advisor.explain import explain
from shallows.advisor.explained_page import MOST_ROWS, page
from shallows.advisor.readers import reader, sonic, sonic_tables
from shallows.advisor.resolved import resolve
from shallows.advisor.syntax import groups
from shallows.advisor.syntax.statements import MOST_STATEMENTS
from shallows.errors import ShallowsError
from sonic_files import leaf
from vendors import SAMPLES

LINES = 20_000

SECONDS = 5.0
"""Largest processor time in seconds for this many lines of any vendor."""

STEEPEST = 8.0
"""Limit of the ratio of times for 4 n and n lines: 4 for linear growth, 16 for quadratic."""

TRIES = 3
"""Number of attempts, as a busy machine is slow at times."""

SHAPES = [scaled.own_policies, scaled.one_policy]


def explained(format_: str, text: str) -> None:
    explain(resolve(reader(format_).read(text, "switch"))).document()


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of the work in seconds, without that of other processes."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("format_", SAMPLES)
def test_twenty_thousand_lines_take_seconds_and_four_times_as_many_four_times_as_long(
    format_: str, shape: Callable[[str, int], str]
) -> None:
    few, many = shape(format_, LINES // 4), shape(format_, LINES)
    assert 0.9 * LINES < many.count("\n") <= 1.1 * LINES
    assert reader(format_).read(few, "switch").understood > LINES // 40
    explained(format_, shape(format_, 200))  # what is imported, compiled and cached is not timed
    for _ in range(TRIES):
        short = seconds(lambda: explained(format_, few))
        long = seconds(lambda: explained(format_, many))
        if long < min(STEEPEST * short, SECONDS):
            break
    assert long < STEEPEST * short
    assert long < SECONDS


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("format_", SAMPLES)
def test_no_collection_of_garbage_traverses_what_is_being_read(
    format_: str, shape: Callable[[str, int], str]
) -> None:
    text = shape(format_, LINES)
    explained(format_, shape(format_, 200))
    started: list[int] = []

    def count(phase: str, details: dict[str, int]) -> None:
        started.extend([details["generation"]] * (phase == "start"))

    gc.callbacks.append(count)
    try:
        explain(resolve(reader(format_).read(text, "switch")))
    finally:
        gc.callbacks.remove(count)
    # Each of the three steps may leave objects enough for one collection of each generation. Where it is not
    # paused, the collector starts 359 times in 20,000 lines of EOS: after every 700 objects.
    assert len(started) <= 3 * 3
    assert gc.isenabled()


def own_queue_at_each_port() -> str:
    lines = ["qos profile P", *(f"   uc-tx-queue {queue}\n      bandwidth percent 5" for queue in range(99))]
    for port in range(6_600):
        lines += [f"interface Ethernet{port}/1", "   service-profile P", "   uc-tx-queue 3"]
    return "\n".join(lines)


def points_of_a_class_again_and_again() -> str:
    lines = ["class-map type qos match-any C", *(9_000 * ["  match dscp 0-63"])]
    for number in range(2_000):
        lines += [f"policy-map type qos P{number}", "  class C", "    set qos-group 1"]
        lines += [f"interface Ethernet1/{number}", f"  service-policy type qos input P{number}"]
    return "\n".join(["system qos", *lines])


def map_of_unknown_fields_at_each_port() -> str:
    ports = {f"Ethernet{port}": {"mtu": str(64 + port)} for port in range(5_000)}
    tables = {
        "PORT": ports,
        "PORT_QOS_MAP": {port: {"dscp_to_tc_map": "M"} for port in ports},
        "DSCP_TO_TC_MAP": {"M": {f"x{number}": "1" for number in range(10_000)}},
        "BUFFER_PG": {f"{port}|3": {"profile": "B"} for port in ports},
        "BUFFER_PROFILE": {"B": {"xoff": "many", "xon": "many"}},
    }
    return json.dumps(tables, indent=0)


def merges_of_yaml() -> str:
    return "qos_profiles:\n- name: P\n" + "".join(f"  <<: {{x{number}: 1}}\n" for number in range(20_000))


def words_of_a_class() -> str:
    words = " ".join(1_500 * ["no-loss"])
    return "\n".join(f"set class-of-service forwarding-classes class C {words}" for _ in range(400))


def places_of_groups() -> str:
    start, path = "class-of-service", " ".join(f"a{depth}" for depth in range(60))
    lines = [f"set groups g {start} {path} b{number} c" for number in range(6_000)]
    lines += [f"set {start} {path} b{number} apply-groups g" for number in range(6_000)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("format_", "make"),
    [
        ("eos", own_queue_at_each_port),
        ("nxos", points_of_a_class_again_and_again),
        ("sonic", map_of_unknown_fields_at_each_port),
        ("avd", merges_of_yaml),
        ("junos", words_of_a_class),
        ("junos", places_of_groups),
    ],
)
def test_what_each_port_or_line_repeats_is_worked_on_once(format_: str, make: Callable[[], str]) -> None:
    text = make()
    assert any(seconds(lambda: explained(format_, text)) < SECONDS for _ in range(TRIES))


def grouped(count: int, *, pattern: str = "<*>") -> str:
    """Return `count` configuration groups that apply to ports of a pattern, and as many ports."""
    lines, interfaces = [], "class-of-service interfaces"
    for number in range(count):
        lines += [
            f"set groups g{number} {interfaces} {pattern.format(number)} scheduler-map m{number}",
            f"set apply-groups g{number}",
            f"set {interfaces} et-0/0/{number} congestion-notification-profile p",
        ]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        # 1,666 groups for 1,666 ports are 2.8 million statements.
        ("<*>", f"the groups must expand to at most {MOST_STATEMENTS:,} statements"),
        # 1,666 patterns that match nothing are compared with 1,666 ports all the same.
        ("<xe-{}*>", f"more than {groups.MOST_COMPARISONS:,} comparisons"),
    ],
)
def test_groups_of_junos_are_counted_before_they_are_spread_over_ports(pattern: str, words: str) -> None:
    text = grouped(1_666, pattern=pattern)

    def refused() -> None:
        with pytest.raises(ShallowsError, match=words):
            reader("junos").read(text, "switch")

    assert any(seconds(refused) < SECONDS for _ in range(TRIES))


def test_a_group_that_each_port_applies_to_itself_takes_time_by_the_ports() -> None:
    def applied(ports: int) -> str:
        start = "set groups ACCESS class-of-service interfaces <*>"
        lines = [f"{start} unit {unit} classifiers dscp c" for unit in range(20)]
        lines += [
            f"set class-of-service interfaces et-0/0/{port} apply-groups ACCESS" for port in range(ports)
        ]
        return "\n".join(lines)

    few, many = applied(1_000), applied(4_000)
    switch = reader("junos").read(few, "switch")
    # Each port has the twenty statements, and no other port's.
    assert len(switch.unread) + switch.understood == 20 * 1_000
    for _ in range(TRIES):
        short = seconds(lambda: reader("junos").read(few, "switch"))
        long = seconds(lambda: reader("junos").read(many, "switch"))
        if long < STEEPEST * short:
            break
    assert long < min(STEEPEST * short, SECONDS)


def names(count: int) -> str:
    return ",".join(f"Ethernet{number}" for number in range(count))


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        (
            {"PORT_QOS_MAP": {names(sonic.MOST_PORTS + 1): {"pfc_enable": "3"}}},
            f"the file must have at most {sonic.MOST_PORTS:,} ports",
        ),
        # 8,192 ports of 65 queues in one key of 80 KB: more than 2^19 places.
        (
            {"QUEUE": {f"{names(8_192)}|0-64": {"scheduler": "s"}}},
            f"rows of QUEUE and other tables must list at most {sonic.MOST_PLACES:,} queues or profiles",
        ),
        # 4,096 ports that each have a list of 200 profiles.
        (
            {"BUFFER_PORT_EGRESS_PROFILE_LIST": {names(4_096): {"profile_list": ",".join(200 * ["p"])}}},
            "rows of BUFFER_PORT_EGRESS_PROFILE_LIST and other tables must list at most ",
        ),
        (
            {"QUEUE": {f"Ethernet0|{number}": {} for number in range(sonic_tables.MOST_ROWS + 1)}},
            f"must have at most {sonic_tables.MOST_ROWS:,} rows together",
        ),
    ],
)
def test_sonics_ports_queues_and_rows_are_counted_before_any_is_made(
    tables: dict[str, object], words: str
) -> None:
    text = json.dumps(tables)

    def refused() -> None:
        with pytest.raises(ShallowsError, match=words) as error:
            reader("sonic").read(text, "config_db.json")
        assert error.value.remedy

    assert any(seconds(refused) < SECONDS for _ in range(TRIES))


def test_as_many_ports_and_queues_as_sonic_may_have_are_read() -> None:
    # 4,096 ports of 64 queues: half of what is allowed, the other half is for priority groups.
    text = json.dumps({"QUEUE": {f"{names(4_096)}|0-63": {"scheduler": "s"}}})
    (profile,) = reader("sonic").read(text, "config_db.json").profiles
    assert (len(profile.ports), len(profile.queues)) == (4_096, 64)


def test_a_long_page_shows_a_thousand_rows_of_each_table_and_list_and_says_how_many_more() -> None:
    tables = leaf()
    count = MOST_ROWS + 234
    for number in range(count):
        name = f"Ethernet{1_000 + number}"
        # Each curve is its own row, warns of itself, and has a field that nobody knows.
        tables["WRED_PROFILE"][f"W{number}"] = {
            "ecn": "ecn_all",
            "green_min_threshold": str(200_000 + number),
            "green_max_threshold": str(100_000_000 + number),
            "green_later": "1",
        }
        tables["PORT"][name] = {"speed": "100000"}
        tables["QUEUE"][f"{name}|0"] = {"wred_profile": f"W{number}"}
    found = explain(resolve(reader("sonic").read(json.dumps(tables), "config_db.json")))
    text = page(found, ["config_db.json"])
    curves = found.tables[0]
    # Notes show commands as code; the list of unread lines is shown as it is.
    code, plain = "<code>shallows explain --json</code>", "`shallows explain --json`"
    unread = found.resolved.switch.unread
    for rows, command in ((curves.rows, code), (found.findings, code), (unread, plain)):
        assert len(rows) > count - 1
        assert f"And {len(rows) - MOST_ROWS:,} more: {command} has all." in text
    shown = [number for number in range(count) if f"WRED_PROFILE|W{number} green_later" in text]
    assert len(shown) == MOST_ROWS
