"""Tests of findings: each code has a configuration with the finding, and a corrected one without it.

All configurations are changes of `leaf()`: a Tomahawk with four ports at 100 Gbit/s, a lossy queue with a
step at 208 KB, and a lossless queue with a ramp from 208 to 416 KB.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from shallows.advisor.chips import chip
from shallows.advisor.configuration import (
    Allotment,
    Curve,
    Default,
    Marking,
    Pool,
    PortProfile,
    Queue,
    Scheduler,
    Switch,
    Threshold,
)
from shallows.advisor.explain import explain
from shallows.advisor.finding import Finding
from shallows.advisor.findings import find
from shallows.advisor.readers import sonic
from shallows.advisor.resolved import Hints, resolve
from sonic_files import PORTS, Tables, curve, leaf

Change = Callable[[Tables], object]

RAMP = ("208000", "416000")


def findings(*changes: Change, hints: Hints | None = None) -> tuple[Finding, ...]:
    tables = leaf()
    for change in changes:
        change(tables)
    return find(resolve(sonic.read(json.dumps(tables), "config_db.json"), hints))


def codes(*changes: Change, hints: Hints | None = None) -> list[str]:
    return [finding.code for finding in findings(*changes, hints=hints)]


def lossy(low: object, high: object, percent: object = "100", wred: str = "false") -> Change:
    return lambda tables: tables["WRED_PROFILE"].update(LOSSY=curve(low, high, percent, wred=wred))


def lossless(low: object, high: object, percent: object = "10", wred: str = "true") -> Change:
    return lambda tables: tables["WRED_PROFILE"].update(LOSSLESS=curve(low, high, percent, wred=wred))


def fields(table: str, row: str, **values: object) -> Change:
    return lambda tables: tables[table][row].update(values)


def sku(name: str) -> Change:
    return fields("DEVICE_METADATA", "localhost", hwsku=name)


def without(table: str, row: str, field: str) -> Change:
    return lambda tables: tables[table][row].pop(field)


def slow_port(tables: Tables) -> None:
    tables["PORT"][PORTS[0]]["speed"] = "25000"


def slow_port_with_its_own_profile(tables: Tables) -> None:
    slow_port(tables)
    # A quarter of the rate, a quarter of the threshold, in whole cells.
    tables["WRED_PROFILE"]["LOSSY25"] = curve("52000", "52000", "100", wred="false")
    tables["QUEUE"][f"{PORTS[0]}|0"]["wred_profile"] = "LOSSY25"
    tables["WRED_PROFILE"]["LOSSLESS25"] = curve("52000", "104000", "10")
    tables["QUEUE"][f"{PORTS[0]}|3"]["wred_profile"] = "LOSSLESS25"


def unmarked(tables: Tables) -> None:
    for row in tables["QUEUE"].values():
        del row["wred_profile"]


@pytest.mark.parametrize(
    ("code", "changes", "mended"),
    [
        # A lossy queue may hold 8/9 of its pool of 9.24 MB, 8.2 MB; the pool is the end of all.
        ("never-fires", [lossy("8320000", "8320000")], [lossy("8112000", "8112000")]),
        ("never-fires", [lossy("104000000", "104000000")], []),
        ("never-fires", [lossy("208000", "104000000", "0")], [lossy(*RAMP, "0")]),
        # With four busy ones each may hold 8 · 9.24/33 = 2.24 MB, with 16 575 KB.
        ("fires-after-limit", [lossy("582400", "582400")], [lossy("572000", "572000")]),
        # With sixteen busy ones priority groups are paused at 10.88/17 = 640 KB.
        ("pause-before-mark", [lossless("208000", "650000")], [lossless("208000", "624000")]),
        # DCQCN's bound for four ports and one lossless class with α = 1: B/(4·2) of B = 10.9 MB is 1.36 MB of
        # memory, and 1.26 MB on the wire, because a packet of 1,538 B takes eight cells of 208 B.
        ("mark-after-pause", [lossless("1260000", "1260000")], [lossless("1250000", "1250000")]),
        ("no-profile", [unmarked], []),
        ("not-ect-dropped", [lossy(*RAMP, wred="true")], [lossless(*RAMP, wred="false")]),
        ("enable-false", [], [lossy("208000", "208000", "100", "true")]),
        # The same file for a Spectrum, which is known to mark, and to drop only at the limit.
        ("enable-false", [], [sku("ACS-MSN2700")]),
        ("pmax-rounded", [lossless(*RAMP, "20")], [lossless(*RAMP, "25")]),
        ("pmax-rounded", [lossless(*RAMP, "20")], [lossless(*RAMP, "20"), sku("SN2700")]),
        ("step-with-probability", [lossy("208000", "208000", "50")], []),
        ("minimum-above-maximum", [lossless("416000", "208000")], []),
        # 166,912 B are 802.5 cells of a Tomahawk.
        ("cell-rounded", [lossy("166912", "166912")], []),
        (
            "colour-inconsistent",
            [fields("WRED_PROFILE", "LOSSLESS", yellow_min_threshold="312000")],
            [fields("WRED_PROFILE", "LOSSLESS", yellow_min_threshold="104000", red_min_threshold="52000")],
        ),
        # At 100 Gbit/s 13 MB take 1040 µs, 12 MB 960 µs.
        ("unit-suspect", [lossless("12999792", "13000000")], [lossless("11999936", "12000000")]),
        ("unit-suspect", [lossy("208", "208")], []),
        ("speed-independent", [slow_port], [slow_port_with_its_own_profile]),
        ("default-nobody-set", [without("WRED_PROFILE", "LOSSLESS", "green_max_threshold")], None),
        ("value-with-blank", [lossy(" 208000", "208000")], []),
        ("not-valid", [fields("QUEUE", f"{PORTS[0]}|0", wred_profile="GONE")], []),
        # 100 Gbit/s, 40 m, MTU 1500: 1,622 + 5,000 + 394 · 64 + 1,538 + 1,539 = 34,915 B.
        (
            "headroom-insufficient",
            [fields("BUFFER_PROFILE", "pg_lossless_100000_40m_profile", xoff="34914")],
            [fields("BUFFER_PROFILE", "pg_lossless_100000_40m_profile", xoff="34915")],
        ),
        (
            "headroom-insufficient",
            [
                without("BUFFER_PROFILE", "pg_lossless_100000_40m_profile", "xoff"),
                without("BUFFER_POOL", "ingress_lossless_pool", "xoff"),
            ],
            [],
        ),
        # A Tomahawk has 16.8 MB.
        ("pool-beyond-memory", [fields("BUFFER_POOL", "egress_lossy_pool", size="32000000")], []),
        ("alpha-rounded", [fields("BUFFER_PROFILE", "egress_lossy_profile", dynamic_th="4")], []),
    ],
)  # fmt: skip
def test_a_finding_is_there_and_gone_once_mended(
    code: str, changes: list[Change], mended: list[Change] | None
) -> None:
    assert code in codes(*changes)
    if mended is not None:
        assert code not in codes(*mended)


def told(*curves: Curve, allotment: Allotment | None = None, rate: int | None = None) -> Switch:
    """Return a switch with one queue and these curves, as a reader of another format builds it."""
    queue = Queue(0, Scheduler("dwrr"), "M", allotment)
    return Switch(
        "eos",
        profiles=(PortProfile(("Ethernet1",), rate, (queue,)),),
        markings=(Marking("M", curves),),
        pools=(Pool("p", size=9_000_000),),
    )


def of(switch: Switch, name: str | None = None) -> list[str]:
    return [each.code for each in find(resolve(switch, Hints(chip=chip(name) if name else None)))]


STEP = Curve(Threshold.of_bytes(208_000), Threshold.of_bytes(208_000), drops_not_ect=False)


def test_an_average_is_found_and_the_backlog_itself_is_not() -> None:
    assert "averaged" in of(told(replace(STEP, weight=5)))
    assert "averaged" not in of(told(STEP))


def test_a_share_of_a_dynamic_threshold_is_found_and_of_a_fixed_one_is_not() -> None:
    share = Curve(Threshold(Fraction(55), "percent"), Threshold(Fraction(90), "percent"))
    assert "percent-of-dynamic" in of(told(share, allotment=Allotment("p", alpha=Fraction(1))))
    fixed = Allotment("p", limit=Threshold.of_bytes(1_000_000))
    assert "percent-of-dynamic" not in of(told(share, allotment=fixed))


def test_times_are_found_on_chips_that_have_none() -> None:
    # 10 and 20 µs.
    times = Curve(Threshold(Fraction(10**7), "ps"), Threshold(Fraction(2 * 10**7), "ps"))
    assert "time-unsupported" in of(told(times, rate=10**11), "tomahawk")
    assert "time-unsupported" not in of(told(times, rate=10**11), "jericho2")
    resolved = resolve(told(times, rate=10**11))
    assert (resolved.classes[0].kmin, resolved.classes[0].kmax) == (125_000, 250_000)


def test_percentages_of_queues_and_pools_that_are_more_than_all_are_found() -> None:
    def shares(*percents: int) -> Switch:
        queues = tuple(
            Queue(number, Scheduler("dwrr", percent=Fraction(percent)))
            for number, percent in enumerate(percents)
        )
        return Switch("nvue", profiles=(PortProfile((), queues=queues),))

    assert "sum-over-100" in of(shares(50, 51))
    assert "sum-over-100" not in of(shares(50, 50))
    pools = (Pool("a", "ingress", percent=Fraction(60)), Pool("b", "ingress", percent=Fraction(50)))
    assert "sum-over-100" in of(Switch("nvue", pools=pools))
    assert "sum-over-100" not in of(Switch("nvue", pools=(pools[0], replace(pools[1], direction="egress"))))


def test_defaults_are_findings_with_their_citation() -> None:
    switch = replace(told(STEP), defaults=(Default("weight", "unknown", "nobody"),))
    (found,) = [each for each in find(resolve(switch)) if each.code == "default-nobody-set"]
    assert (found.severity, found.what, found.citation) == ("note", "weight: unknown", "nobody")
    assert "default-nobody-set" not in of(told(STEP))


def test_findings_come_gravest_first_and_name_their_place() -> None:
    found = findings(lossless("416000", "208000"), lossy("166912", "166912"))
    assert [each.severity for each in found] == sorted(
        (each.severity for each in found), key=["error", "warning", "note"].index
    )
    assert str(found[0].source) == "config_db.json:WRED_PROFILE|LOSSLESS green_min_threshold"
    assert found[0].source.text == "green_min_threshold: '416000'"


def test_marks_that_never_come_before_pauses_are_a_warning_and_those_that_may_are_a_note() -> None:
    def found(kmin: str) -> Finding:
        (finding,) = [each for each in findings(lossless(kmin, kmin)) if each.code == "mark-after-pause"]
        return finding

    # Three ports that send to the fourth hold 3B/(1 + 3) = 8.16 MB when PFC pauses them; 9 MB never wait.
    # These are 7.54 MB on the wire, because a packet of 1,538 B takes eight cells of 208 B of a Tomahawk.
    late, unsure = found("9000000"), found("2000000")
    assert (late.severity, unsure.severity) == ("warning", "note")
    assert "if 3 ports send to one port, PFC pauses them when 7.54 MB wait for it" in late.what
    assert "only below 1.26 MB does it come before PFC" in unsure.what


def test_placeholders_of_shipped_configurations_are_said_to_be_off() -> None:
    # (2²⁰ − 1) cells of 254 B with probability 0: the end of a register, beyond a pool of 165 MB.
    def change(tables: Tables) -> None:
        tables["WRED_PROFILE"]["LOSSY"] = curve("266338050", "266338050", "0", wred="false")

    (found,) = [each for each in findings(change) if each.code == "never-fires"]
    assert "disable marking" in found.why
    tables = leaf()
    change(tables)
    verdict = explain(resolve(sonic.read(json.dumps(tables), "config_db.json"))).verdict
    assert "Queue 0 marks nothing, because the profile never takes effect." in verdict


def test_what_is_dropped_early_is_named_by_what_it_is() -> None:
    low, high = Threshold.of_bytes(100_000), Threshold.of_bytes(200_000)
    red = Curve(low, high, marks_ect=False, drops_not_ect=True)
    dropping = told(red)
    [every] = [each for each in find(resolve(dropping)) if each.code == "not-ect-dropped"]
    assert "packets are dropped, even if they are ECN-capable" in every.what
    yellow = told(Curve(low, high), replace(red, colour="yellow"))
    [some] = [each for each in find(resolve(yellow)) if each.code == "not-ect-dropped"]
    assert "yellow packets are dropped, even if they are ECN-capable" in some.what
    marking = told(Curve(low, high), replace(red, colour="yellow", marks_ect=True))
    [some] = [each for each in find(resolve(marking)) if each.code == "not-ect-dropped"]
    assert "yellow packets that are not ECN-capable are dropped" in some.what


def test_what_no_setting_says_of_packets_that_cannot_be_marked_is_not_called_a_setting() -> None:
    unsaid = told(Curve(Threshold.of_bytes(100_000), Threshold.of_bytes(200_000)))
    assert "enable-false" in of(replace(unsaid, format="sonic"))
    assert "enable-false" not in of(replace(unsaid, format="nxos"))
    assert "not-ect-unknown" in of(replace(unsaid, format="nxos"))
