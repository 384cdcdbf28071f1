"""Tests of units in vendors' configurations, and of the list of unread lines with their numbers."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from shallows.advisor import readers
from shallows.advisor.configuration import Allotment, Curve, PortProfile, Queue, Switch, Threshold
from shallows.advisor.explain import explain
from shallows.advisor.readers import FORMATS, reader
from shallows.advisor.resolved import resolve
from shallows.advisor.writers import eos as eos_writer
from shallows.advisor.writers import hosts, tc, write
from shallows.errors import ShallowsError
from shared import Shell
from vendors import SAMPLES, SWITCHES, read, sample

every_format = pytest.mark.parametrize("format_", SAMPLES)


def curve_of(switch: Switch, name: str) -> Curve:
    marking = switch.marking(name)
    assert marking is not None
    return marking.curves[0]


def queue_of(switch: Switch, number: int, port: str = "") -> Queue:
    return next(
        queue
        for profile, queue in switch.queues()
        if queue.number == number and (not port or port in profile.ports)
    )


def percent(share: int) -> Threshold:
    return Threshold(Fraction(share), "percent")


@every_format
def test_each_sample_is_recognised_by_its_reader_alone(format_: str) -> None:
    found = [each for each in FORMATS if reader(each).recognises(sample(format_), SAMPLES[format_])]
    assert found == [format_]


def test_eos_counts_in_cells_and_thousands_of_bytes() -> None:
    switch = read("eos", sample("eos"))
    # 1200 segments maximum 4800: cells of the chip; 200 kbytes: 1000 bytes each, which is said to be assumed.
    curve = curve_of(switch, "host-facing/3")
    assert (curve.minimum, curve.maximum) == (
        Threshold(Fraction(1200), "cells"),
        Threshold(Fraction(4800), "cells"),
    )
    assert (curve.probability, curve.weight) == (Fraction(1, 10), 0)
    assert curve_of(switch, "host-facing/1").minimum == Threshold.of_bytes(200_000)
    assert "1000 bytes" in switch.defaults[0].value
    assert curve_of(switch, "global-buffer").minimum == Threshold(Fraction(9984), "cells")
    # `random-detect drop drop-precedence 1`: packets of the second colour are dropped, and none is marked.
    dropped = curve_of(switch, "host-facing/4")
    assert (dropped.colour, dropped.marks_ect, dropped.drops_not_ect) == ("yellow", False, True)
    # An interface's own queue goes before its profile's; `allow non-ect` lets other packets pass.
    assert queue_of(switch, 3, "Ethernet32/1").marking == "Ethernet32/1/3"
    assert queue_of(switch, 1, "Ethernet32/1").marking == "host-facing/1"
    assert curve_of(switch, "Ethernet32/1/3").drops_not_ect is False
    three = queue_of(switch, 3, "Ethernet1/1")
    assert three.lossless
    assert three.allotment is not None
    assert (three.allotment.alpha, three.allotment.reserved) == (Fraction(1, 2), Threshold.of_bytes(1664))


def test_avd_says_what_its_rendered_configuration_says() -> None:
    assert replace(read("avd", sample("avd")), format="eos") == read("eos", sample("eos"))


def test_nvue_says_the_same_in_commands_and_in_yaml() -> None:
    switch = read("nvue", sample("nvue"))
    assert read("nvue", (SWITCHES / "nvue.yaml").read_text()) == switch
    # `traffic-class 1,2` is both; with RED off, packets that are not ECN-capable are left to the tail.
    assert curve_of(switch, "default-global/2").drops_not_ect is True
    assert curve_of(switch, "default-global/3").drops_not_ect is False
    assert queue_of(switch, 1).allotment == replace(
        queue_of(switch, 1).allotment or Allotment(), alpha=Fraction(4), reserved=Threshold.of_bytes(1696)
    )
    assert queue_of(switch, 3, "swp32").marking == "uplinks/3"
    assert [(pool.name, pool.percent) for pool in switch.pools] == [
        ("default-lossless", Fraction(50)),
        ("default-lossy", Fraction(50)),
    ]


def test_nvue_takes_back_what_is_unset() -> None:
    text = sample("nvue") + "nv unset qos congestion-control uplinks\nnv unset interface swp31-32 qos\n"
    assert all(marking.name != "uplinks/3" for marking in read("nvue", text).markings)


def test_nxos_has_a_dynamic_limit_by_index_and_marks_where_it_says_ecn() -> None:
    switch = read("nxos", sample("nxos"))
    three = queue_of(switch, 3)
    # `queue-limit dynamic 4` is 2^(4-7).
    assert three.allotment is not None
    assert three.allotment.alpha == Fraction(1, 8)
    curve = curve_of(switch, "OUT/3")
    assert (curve.minimum, curve.maximum) == (Threshold.of_bytes(150_000), Threshold.of_bytes(3_000_000))
    assert (curve.probability, curve.marks_ect) == (Fraction(7, 100), True)
    assert (curve_of(switch, "OUT/1").marks_ect, curve_of(switch, "OUT/1").weight) == (False, 2)
    assert queue_of(switch, 3, "Ethernet1/49").marking == "UPLINK/3"
    assert switch.profiles[0].pfc == (3,)
    assert dict(switch.profiles[1].maps.dscp_to_class) == {26: 3, 48: 7}


def test_junos_fills_in_percent_and_drops_nothing_where_it_marks() -> None:
    switch = read("junos", sample("junos"))
    curve = curve_of(switch, "rdma")
    assert (curve.minimum, curve.maximum, curve.probability) == (percent(55), percent(90), Fraction(1))
    assert (curve.marks_ect, curve.drops_not_ect) == (True, False)
    assert (curve_of(switch, "web").marks_ect, curve_of(switch, "web").drops_not_ect) == (False, True)
    # Dynamic threshold 9: 7 is alpha 1, and each step doubles it.
    web = queue_of(switch, 1)
    assert web.allotment is not None
    assert web.allotment.alpha == 4
    assert queue_of(switch, 4).lossless
    assert queue_of(switch, 3).scheduler is not None


def test_junos_says_the_same_in_braces_and_in_commands() -> None:
    text = """set system host-name leaf
    set class-of-service forwarding-classes class web queue-num 1
    set class-of-service drop-profiles d interpolate fill-level [ 10 20 ]
    set class-of-service drop-profiles d interpolate drop-probability [ 0 50 ]
    set class-of-service schedulers s drop-profile-map loss-priority low protocol any drop-profile d
    set class-of-service scheduler-maps m forwarding-class web scheduler s
    set class-of-service interfaces et-0/0/1 scheduler-map m"""
    braces = """class-of-service { forwarding-classes { class web queue-num 1; }
    drop-profiles { d { interpolate { fill-level [ 10 20 ]; drop-probability [ 0 50 ]; } } }
    schedulers { s { drop-profile-map loss-priority low protocol any drop-profile d; } }
    scheduler-maps { m { forwarding-class web scheduler s; } }
    interfaces { et-0/0/1 { scheduler-map m; } } }"""
    assert read("junos", text) == read("junos", braces)
    assert curve_of(read("junos", braces), "s").colour == "green"


def test_tc_has_units_of_1024_and_the_weight_that_its_burst_makes() -> None:
    switch = read("tc", sample("tc"))
    curve = curve_of(switch, "swp1/2")
    # tc(8): 100Kb is 102,400 bytes; `nodrop` leaves other packets alone; `ewma 4` is 2^-4.
    assert curve.minimum == Threshold.of_bytes(102_400)
    assert (curve.drops_not_ect, curve.weight, curve.probability) == (False, 4, Fraction(1, 50))
    assert curve_of(switch, "swp1/1").weight == 5
    assert [queue.scheduler.kind for _, queue in switch.queues() if queue.scheduler] == [
        "strict",
        "dwrr",
        "dwrr",
    ]
    assert {(each.name, each.value) for each in switch.settings if each.scope} == {
        ("host.rto_min", "5ms"),
        ("host.congctl", "dctcp"),
        ("host.features", "ecn"),
        ("host.initcwnd", "10"),
    }
    command = (
        "tc qdisc add dev eth1 root handle 1: red limit 1mb min 200000 max 400000 avpkt 1000 burst 200 ecn"
    )
    assert curve_of(read("tc", command), "eth1/0").weight == 1
    # An fq_codel is about queues, but the model cannot express it: it is listed with its line.
    [unread] = switch.unread
    assert unread.text.startswith("qdisc fq_codel 8001:")
    assert unread.place == "15"


UNKNOWN = {
    "eos": ("   uc-tx-queue 3\n", "   uc-tx-queue 3\n      random-detect later 7\n", "random-detect later 7"),
    "avd": ("    trust: dscp\n", "    trust: dscp\n    colour: blue\n", "colour: blue"),
    "nvue": ("nv set qos roce", "", ""),
    "nxos": (
        "    priority level 1\n",
        "    priority level 1\n    afd queue-desired 150 kbytes\n",
        "afd queue-desired",
    ),
    "junos": ("shared-buffer {", "shared-buffer { later 7;", "class-of-service shared-buffer later 7"),
}


@pytest.mark.parametrize("format_", ["eos", "avd", "nxos", "junos"])
def test_what_is_not_understood_is_listed_with_its_line(format_: str) -> None:
    old, new, listed = UNKNOWN[format_]
    text = sample(format_)
    assert not read(format_, text).unread
    text = text.replace(old, new, 1)
    [unread] = read(format_, text).unread
    assert listed in unread.text
    at = text.splitlines()[int(unread.place) - 1]
    assert listed.split()[-1].rstrip(";") in at


def test_lines_that_are_not_about_queues_are_not_listed() -> None:
    more = "interface Vlan7\n   ip address 10.0.0.1/24\n!\nrouter bgp 1\n   neighbor 10.0.0.2 bandwidth 7\n"
    assert read("eos", sample("eos") + more).unread == ()


@every_format
def test_half_a_file_is_read_or_refused_with_its_name(format_: str) -> None:
    text = sample(format_)
    for cut in range(0, len(text), 97):
        refused = refusal_of(format_, text[:cut])
        assert refused is None or ("half.cfg" in refused.message and refused.remedy)


def refusal_of(format_: str, text: str) -> ShallowsError | None:
    try:
        reader(format_).read(text, "half.cfg")
    except ShallowsError as error:
        return error
    return None


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{'abcdefghij'[place + 1]}: &{'abcdefghij'[place + 1]} [{', '.join(['*' + 'abcdefghij'[place]] * 9)}]\n"
    for place in range(9)
)

REFUSED = [
    ("avd", "qos_profiles:\n" + BOMB, "repeated aliases included"),
    ("avd", "qos: " + "[" * 900, "at most 64 levels deep"),
    # 60 KB of nesting must not crash the interpreter.
    ("avd", "qos:\n" + "- " * 30_000, "at most 64 levels deep"),
    ("avd", "qos:\n" + "? " * 30_000, "a key must be a string"),
    ("nvue", "- set:\n" + "- " * 30_000, "at most 64 levels deep"),
    ("junos", "set class-of-service x [ " + "1 " * 5_000 + "]", "a list must have at most 4,096 items"),
    (
        "nvue",
        "nv set interface swp1-65535 qos pfc profile p\n" * 50,
        "must expand to at most 262,144 statements",
    ),
    ("avd", "qos: " + "[" * 90 + "]" * 90, "at most 64 levels deep"),
    ("avd", "qos: &x\n  again: *x\n", "at most 64 levels deep"),
    ("avd", "qos:\n  map: {dscp: []}\nqos: 7\n", 'x:3: the key "qos" occurs twice'),
    (
        "eos",
        "qos profile p\n" + "".join(" " * depth + "x\n" for depth in range(1, 80)),
        "x:65: sections must",
    ),
    (
        "eos",
        "qos profile p\n   " + "x" * (1 << 20),
        "x:2: a line must have at most 16,384 characters, got 1,048,579",
    ),
    ("nxos", "policy-map type queuing p\n\x00", "x:2: the line must not contain a NUL character"),
    ("junos", "class-of-service {\n schedulers { s {", "x:2: the brace that opens here is not closed"),
    ("junos", "class-of-service { } }", "x:1: a closing brace has no opening brace"),
    ("junos", 'class-of-service { a "b; }', "x:1: a quoted string is not closed"),
    ("junos", "class-of-service { fill-level [ 1 2; }", "x:1: the brackets of a list do not match"),
    ("junos", "class-of-service " + "{ a " * 80, "x:1: sections must be nested at most 64 levels deep"),
    ("nvue", "nv set qos congestion-control 'p\n", "x:1: a quoted string is not closed"),
    (
        "nvue",
        "nv set qos pfc p switch-priority 0-4000 traffic-class 0-4000 x",
        "x:1: the command must name at most 65,536",
    ),
]


@pytest.mark.parametrize(("format_", "text", "message"), REFUSED)
def test_what_no_switch_has_is_refused_with_its_line(format_: str, text: str, message: str) -> None:
    with pytest.raises(ShallowsError) as refused:
        reader(format_).read(text, "x")
    assert message in refused.value.message
    assert refused.value.remedy


def test_ten_thousand_ports_that_are_told_alike_are_one_profile() -> None:
    ports = "".join(f"interface Ethernet{port}\n   service-profile p\n" for port in range(1, 10_001))
    text = "qos profile p\n   uc-tx-queue 3\n      no priority\n" + ports
    [profile] = read("eos", text).profiles
    assert len(profile.ports) == 10_000


def test_a_file_of_no_vendor_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("queues are long today\n")
    with pytest.raises(ShallowsError, match=r"the format of .* is unknown"):
        readers.read(path)


def test_eos_is_not_asked_for_what_it_cannot_express() -> None:
    switch = read("sonic", sample("sonic"))
    told = eos_writer.tell(switch)
    # CONFIG_DB has a curve for each colour, a pool with a size, and headroom; EOS has none of these.
    assert any("depend on the colour" in each for each in told.inexpressible)
    assert any("ingress_lossless_pool" in each for each in told.inexpressible)
    assert any("headroom" in each for each in told.inexpressible)


def test_linux_is_asked_for_a_step_and_not_for_the_backlog_itself() -> None:
    told = tc.tell(read("eos", sample("eos")))
    # red_check_params of net/red.h refuses a maximum below the minimum alone; nfp's driver asks for a step.
    assert any(" min 200000 max 200000 " in line.text for line in told.lines)
    assert any("averages, by half at least" in each for each in told.inexpressible)


def test_a_nic_is_told_what_changes_and_taken_back() -> None:
    text = hosts.nic(hosts.Nic("eth0", pfc=(3,)), hosts.Nic("eth0", pfc=(3,), ecn=(3,)))
    folder = "/sys/class/net/eth0/ecn"
    assert text.change == f"echo 1 > {folder}/roce_np/enable/3\necho 1 > {folder}/roce_rp/enable/3\n"
    assert text.rollback == text.change.replace("echo 1", "echo 0")


def test_the_command_line_translates_and_says_what_is_lost(shell: Shell, tmp_path: Path) -> None:
    done = shell("export", "switch", SWITCHES / "sonic.json", "--to", "eos", "--out", "leaf.cfg")
    assert done.returncode == 0, done.stderr
    assert "not in eos: WRED_PROFILE" in done.stderr or "depend on the colour" in done.stderr
    assert read("eos", (tmp_path / "leaf.cfg").read_text()).markings
    again = shell("export", "switch", SWITCHES / "sonic.json", "--to", "eos", "--out", "leaf.cfg")
    assert (again.returncode, "exists" in again.stderr) == (1, True)
    printed = shell("export", "switch", SWITCHES / "eos.cfg", "--to", "nvue")
    assert printed.stdout.startswith("nv set qos ")


def test_eos_names_its_chip_by_the_model_above_its_configuration() -> None:
    switch = reader("eos").read(sample("eos"), "eos.cfg")
    assert (switch.platform, switch.chip) == ("DCS-7060CX-32S", "tomahawk")
    # 1,200 cells of 208 B.
    assert any(each.kmin == 249_600 for each in resolve(switch).classes)


def test_a_pattern_of_ports_is_not_counted_as_one_port() -> None:
    table = explain(resolve(read("junos", sample("junos")))).tables[0]
    assert {row[3] for row in table.rows} == {"et-*"}


def test_cumulus_probability_is_read_and_written_and_unset_it_is_all() -> None:
    start = "nv set qos congestion-control p traffic-class 3"
    text = f"{start} min-threshold 800000\n{start} max-threshold 3200000\n{start} ecn enable\n"
    text += "nv set interface swp1 qos congestion-control profile p\n"
    whole, fifth = read("nvue", text), read("nvue", f"{text}{start} probability 20\n")
    assert fifth.unread == ()
    assert [each.curves[0].probability for each in (*whole.markings, *fifth.markings)] == [1, Fraction(1, 5)]
    assert read("nvue", write("nvue", None, fifth).change) == fifth
    assert write("nvue", fifth, whole).change == f"{start} probability\n".replace("nv set", "nv unset")
    assert read("nvue", f"{text}{start} probability 101\n").unread


@pytest.mark.parametrize("format_", ["junos", "nvue"])
def test_a_rate_that_is_no_whole_number_of_gigabits_is_said_and_not_rounded(format_: str) -> None:
    for rate, word in ((2_500_000_000, None), (10**8, None), (25 * 10**9, "25")):
        text = write(format_, None, Switch("eos", profiles=(PortProfile(("swp1",), rate=rate),)))
        assert ("speed" in text.change) == (word is not None)
        assert word is None or f"speed {word}" in text.change
        assert any("no whole Gb/s" in each for each in text.inexpressible) == (word is None)


def test_policies_about_queues_of_avd_are_listed() -> None:
    text = "policy_maps:\n  qos:\n  - name: p\n    classes:\n    - name: c\n      set:\n"
    text += "        traffic_class: 3\n  pbr:\n  - name: r\nqos_profiles:\n- name: q\n  trust: dscp\n"
    assert [each.text for each in read("avd", text).unread] == [
        "policy_maps.qos.0.name: p",
        "policy_maps.qos.0.classes.0.name: c",
        "policy_maps.qos.0.classes.0.set.traffic_class: 3",
    ]


def test_cumulus_own_marks_of_class_0_are_a_default_unless_the_file_says_otherwise() -> None:
    own = "nv set qos congestion-control p traffic-class 3 ecn enable\n"
    assert [each.what[:22] for each in read("nvue", own).defaults] == ["ECN of traffic class 0"]
    said = "nv set qos congestion-control default-global traffic-class 0 ecn disable\n"
    assert read("nvue", own + said).defaults == ()


def test_policies_about_queues_are_listed_and_those_of_the_control_plane_are_not() -> None:
    queues = ["policy-map type quality-of-service p", "class c", "set traffic-class 3"]
    plane = "policy-map type copp copp-system-policy\n   class copp-system-bgp\n      bandwidth kbps 500\n!\n"
    text = f"{queues[0]}\n   {queues[1]}\n      {queues[2]}\n!\n{plane}interface Ethernet1\n"
    text += "   service-policy type quality-of-service input p\n   service-policy type pbr input r\n"
    found = read("eos", text)
    assert [each.text for each in found.unread] == [*queues, "service-policy type quality-of-service input p"]
    verdict = explain(resolve(found)).verdict
    assert verdict.startswith(
        "No line about queues was understood. 4 of 4 lines or values about queues were not understood."
    )
