"""Tests of Junos configurations as operators have them: terminal output, groups, code points, percent."""

from dataclasses import replace
from fractions import Fraction

import pytest

from shallows.advisor.configuration import Switch
from shallows.advisor.explain import explain
from shallows.advisor.readers import format_of
from shallows.advisor.resolved import resolve
from shallows.advisor.writers import write
from shallows.errors import ShallowsError
from vendors import SWITCHES, read, sample

SCHEDULERS = """    schedulers {
        bulk {
            transmit-rate percent 30;
            shaping-rate percent 40;
            buffer-size percent 20;
        }
        rest {
            transmit-rate {
                remainder;
            }
            buffer-size {
                remainder;
            }
        }
    }
    scheduler-maps {
        both {
            forwarding-class BULK scheduler bulk;
            forwarding-class REST scheduler rest;
        }
    }
    forwarding-classes {
        class BULK queue-num 1;
        class REST queue-num 0;
    }
"""

SESSION = f"""Spine:
ops@spine-1> show configuration class-of-service | no-more
{SCHEDULERS}
{{master:0}}
ops@spine-1> show configuration groups PORTS
class-of-service {{
    interfaces {{
        et-0/0/7 {{
            scheduler-map both;
        }}
    }}
}}

{{master:0}}
ops@spine-1> show configuration apply-groups
apply-groups [ global PORTS ];

{{master:0}}
ops@spine-1>
"""


def test_what_a_terminal_shows_is_read_with_the_path_that_was_asked_for() -> None:
    assert format_of(SESSION, "session") == "junos"
    switch = read("junos", SESSION)
    assert (switch.unread, switch.notes) == ((), ())
    [profile] = switch.profiles
    assert profile.ports == ("et-0/0/7",)
    assert [queue.name for queue in profile.queues] == ["REST", "BULK"]
    asked_below = SESSION.replace("PORTS\nclass-of-service {", "PORTS class-of-service\n# {").replace(
        "        }\n    }\n}\n\n{master:0}\nops@spine-1> show configuration apply",
        "        }\n    }\n\n{master:0}\nops@spine-1> show configuration apply",
    )
    assert read("junos", asked_below) == switch
    edited = SESSION.replace("> show configuration class-of-service", "# show").replace(
        "Spine:", "[edit class-of-service]"
    )
    assert read("junos", edited) == switch


def test_commands_after_a_prompt_are_commands() -> None:
    text = "".join(
        f"ops@leaf# set class-of-service schedulers s{number} transmit-rate percent {number}\n"
        for number in (1, 2)
    )
    assert format_of(text, "session") == "junos"
    switch = read("junos", text)
    assert [each.text for each in switch.unread] == [
        f"class-of-service schedulers s{number} transmit-rate percent {number}" for number in (1, 2)
    ]  # understood, and used by nothing
    text += "ops@leaf# set class-of-service scheduler-maps m forwarding-class web scheduler s1\n"
    assert read("junos", text).understood == 2


def test_of_a_session_with_several_switches_the_first_is_read_and_the_others_are_listed() -> None:
    other = "ops@spine-2> show configuration\nclass-of-service {\n    drop-profiles { d; }\n}\n"
    switch = read("junos", SESSION + other)
    assert replace(switch, unread=(), notes=()) == read("junos", SESSION)
    assert [each.text for each in switch.unread] == ["class-of-service drop-profiles d"]
    found = {each.code: each for each in explain(resolve(switch)).findings}
    assert "spine-2" in found["several-switches"].what
    assert "to its own file" in found["several-switches"].fix


def test_of_commands_below_the_names_of_several_switches_the_first_are_read_and_the_others_listed() -> None:
    first = GROUPS + "set apply-groups B\n"
    other = "set groups D class-of-service schedulers s transmit-rate percent 70\nset apply-groups D\n"
    text = f"leaf-1:\n\n{first}\nleaf-2:\n\n{other}"
    switch, alone = read("junos", text), read("junos", first)
    assert replace(switch, notes=()) == replace(alone, notes=())
    assert [(each.place, each.text) for each in switch.unread][-1] == (
        str(text.splitlines().index(other.splitlines()[0]) + 1),
        "groups D class-of-service schedulers s transmit-rate percent 70",
    )
    assert [each.what for each in switch.notes if each.code == "several-switches"] == [
        "the file shows several switches: only leaf-1 is read, not leaf-2"
    ]


def test_commands_that_speak_of_queues_in_groups_alone_are_junos() -> None:
    text = "set groups A class-of-service schedulers s transmit-rate percent 10\nset apply-groups A\n"
    assert format_of(text, "snippet") == "junos"
    text += "set class-of-service scheduler-maps m forwarding-class web scheduler s\n"
    assert read("junos", text).unread == ()


@pytest.mark.parametrize(
    "idle",
    [
        "drop-profiles d interpolate fill-level [ 1 2 ]",
        "drop-profiles d interpolate drop-probability [ 0 100 ]",
        "schedulers t transmit-rate percent 7",
        "classifiers dscp c forwarding-class web loss-priority low code-points ef",
        "interfaces et-0/0/1 scheduler-map none",
        "interfaces et-0/0/1 unit 0 classifiers dscp none",
    ],
)
def test_what_nothing_uses_or_names_nothing_is_listed_as_it_changes_no_queue(idle: str) -> None:
    there = read("junos", GROUPS)
    with_it = read("junos", f"{GROUPS}set class-of-service {idle}\n")
    assert with_it.understood == there.understood
    listed = [each.text for each in with_it.unread if each not in there.unread]
    assert listed
    assert all(each.startswith(f"class-of-service {idle.partition(' [')[0]}") for each in listed)


def test_a_marking_scheduler_that_nothing_uses_is_kept_with_its_marks_and_the_rest_is_listed() -> None:
    marks = "".join(
        f"set class-of-service {each}\n"
        for each in (
            "drop-profiles d interpolate fill-level [ 10 20 ]",
            "drop-profiles d interpolate drop-probability [ 0 100 ]",
            "schedulers t drop-profile-map loss-priority any protocol any drop-profile d",
            "schedulers t explicit-congestion-notification",
            "schedulers t transmit-rate percent 7",
        )
    )
    switch = read("junos", GROUPS + marks)
    assert [each.name for each in switch.markings] == ["t"]
    assert [each.text for each in switch.unread if " t " in each.text] == [
        "class-of-service schedulers t transmit-rate percent 7"
    ]


def test_queues_of_one_policy_that_differ_get_schedulers_of_their_own() -> None:
    # Cumulus Linux has one name for the policy of all queues, Junos one for each scheduler.
    policy = "nv set qos egress-scheduler default-global traffic-class"
    text = f"{policy} 1 mode dwrr\n{policy} 1 bw-percent 30\n{policy} 2 mode dwrr\n{policy} 2 bw-percent 70\n"
    again = read("junos", write("junos", None, read("nvue", text + f"{policy} 6 mode strict\n")).change)
    [profile] = again.profiles
    told = {
        queue.number: (queue.scheduler.kind, queue.scheduler.percent)
        for queue in profile.queues
        if queue.scheduler
    }
    assert {number: told[number] for number in (1, 2, 6)} == {
        1: ("dwrr", 30),
        2: ("dwrr", 70),
        6: ("strict", None),
    }


def test_what_a_terminal_shows_without_its_end_is_listed_with_its_line() -> None:
    cut = SESSION.replace("        }\n    }\n}\n", "        }\n    }\n", 1)
    [unread] = read("junos", cut).unread
    assert "class-of-service { is not closed before line" in unread.text
    assert cut.splitlines()[int(unread.place) - 1] == "class-of-service {"
    assert read("junos", cut).profiles == read("junos", SESSION).profiles


def test_one_brace_too_many_is_refused_with_its_line_and_what_to_do() -> None:
    with pytest.raises(ShallowsError) as refused:
        read("junos", "class-of-service {\n}\nrouting-options {\n    }\n}\n")
    assert refused.value.message.endswith(":5: a closing brace has no opening brace")
    assert "a surplus closing brace above" in str(refused.value.remedy)


GROUPS = """set groups A class-of-service schedulers s transmit-rate percent 10
set groups A class-of-service schedulers s shaping-rate 4g
set groups B class-of-service schedulers s transmit-rate percent 20
set groups B class-of-service schedulers s priority strict-high
set groups C class-of-service schedulers s buffer-dynamic-threshold 9
set class-of-service schedulers s transmit-rate percent 30
set class-of-service forwarding-classes class web queue-num 1
set class-of-service scheduler-maps m forwarding-class web scheduler s
"""


@pytest.mark.parametrize(
    ("applied", "told"),
    [
        ("A", (30, 4 * 10**9, "dwrr")),
        ("[ A B ]", (30, 4 * 10**9, "strict")),
        ("B", (30, None, "strict")),
    ],
)
def test_applied_groups_hold_where_nothing_else_is_said(applied: str, told: tuple[object, ...]) -> None:
    switch = read("junos", f"{GROUPS}set apply-groups {applied}\n")
    [(_, queue)] = switch.queues()
    assert queue.scheduler is not None
    assert (queue.scheduler.percent, queue.scheduler.shape, queue.scheduler.kind) == told
    assert queue.allotment is None
    assert any("buffer-dynamic-threshold" in each.text for each in switch.unread)
    assert any("group C" in note.what for note in switch.notes)


def test_of_two_groups_the_first_goes_before() -> None:
    text = GROUPS.replace("set class-of-service schedulers s transmit-rate percent 30\n", "")
    for applied, share in (("[ A B ]", 10), ("[ B A ]", 20)):
        [(_, queue)] = read("junos", f"{text}set apply-groups {applied}\n").queues()
        assert queue.scheduler is not None
        assert queue.scheduler.percent == share


def test_shares_of_the_rate_and_what_is_left_are_read_and_written() -> None:
    switch = read("junos", SESSION)
    rest, bulk = (queue.scheduler for _, queue in switch.queues())
    assert rest is not None
    assert bulk is not None
    assert (bulk.percent, bulk.shape_percent, rest.remainder) == (Fraction(30), Fraction(40), True)
    assert {(each.scope, each.value) for each in switch.settings if each.name == "buffer-size"} == {
        ("bulk", "percent 20"),
        ("rest", "remainder"),
    }
    text = write("junos", None, switch)
    assert text.inexpressible == ()
    assert read("junos", text.change) == switch
    without = "delete class-of-service schedulers bulk shaping-rate\n"
    [_, less] = (queue.scheduler for _, queue in read("junos", text.change + without).queues())
    assert less is not None
    assert less.shape_percent is None


def test_code_points_have_names_and_loss_priorities() -> None:
    text = sample("junos").replace("code-points 110000", "code-points nc1")
    assert read("junos", text) == read("junos", sample("junos"))
    own = "set class-of-service code-point-aliases dscp ours 000111\n"
    loss = (
        "set class-of-service classifiers dscp c forwarding-class web loss-priority high code-points ours\n"
        "set class-of-service classifiers dscp c forwarding-class web loss-priority low code-points af21\n"
        "set class-of-service forwarding-classes class web queue-num 1\n"
        "set class-of-service interfaces et-0/0/1 unit 0 classifiers dscp c\n"
    )
    switch = read("junos", loss + own)
    assert switch.unread == ()
    assert switch.profiles[0].maps.dscp_to_class == ((7, 1), (18, 1))
    assert [each.scope for each in switch.settings if each.name == "dscp.loss-priority"] == ["c 000111"]
    assert read("junos", write("junos", None, switch).change) == switch


def test_units_of_a_port_with_other_classifiers_are_listed() -> None:
    two = "".join(
        f"set class-of-service classifiers dscp c{number} forwarding-class web loss-priority low "
        "code-points ef\n"
        f"set class-of-service interfaces et-0/0/{number} unit {number} classifiers dscp c{number}\n"
        for number in (1, 2)
    )
    assert read("junos", two).unread == ()
    two += "set class-of-service interfaces et-0/0/1 unit 2 classifiers dscp c2\n"
    [unread] = read("junos", two).unread
    assert unread.text.endswith("unit 2 classifiers dscp c2")


def test_a_scheduler_of_a_class_without_queue_is_noted() -> None:
    text = "set class-of-service schedulers s transmit-rate percent 5\n"
    text += "set class-of-service scheduler-maps m forwarding-class web scheduler s\n"
    [note] = read("junos", text).notes
    assert note.what == "scheduler map m: the file has no queue of forwarding class web"


def test_a_session_says_what_the_same_configuration_says() -> None:
    session = read("junos", (SWITCHES / "junos.txt").read_text())
    assert replace(session, unread=(), notes=()) == read("junos", sample("junos"))
    # `show` of one port has its speed and MTU; the other switch's line is listed.
    assert [each.text for each in session.unread] == [
        "class-of-service schedulers rdma transmit-rate percent 60"
    ]


PAUSE = """class-of-service {
    forwarding-classes {
        class fcoe queue-num 3 no-loss;
        class web queue-num 0;
        class data queue-num 5 no-loss;
    }
    schedulers { s { transmit-rate percent 50; } }
    scheduler-maps {
        m {
            forwarding-class fcoe scheduler s;
            forwarding-class web scheduler s;
            forwarding-class data scheduler s;
        }
    }
    congestion-notification-profile {
        tags {
            input {
                ieee-802.1 { code-point 011 { pfc { mru 2240; } } code-point 100 pfc; }
                cable-length 150;
            }
            output {
                ieee-802.1 {
                    code-point 011 { flow-control-queue 3; }
                    code-point 100 { flow-control-queue 5; }
                }
            }
        }
        spare { input { ieee-802.1 { code-point 110 pfc; } cable-length 40; } }
    }
    interfaces { xe-0/0/1 { scheduler-map m; congestion-notification-profile tags; } }
}
"""


def test_pfc_by_vlan_tags_is_read_with_its_queues_and_written_as_it_was() -> None:
    switch = read("junos", PAUSE)
    assert switch.unread == ()
    [profile] = switch.profiles
    # 011 is priority 3, 100 is 4; the output side says that 4 pauses queue 5.
    assert (profile.pfc, profile.cable) == ((3, 4), Fraction(150))
    assert [(each.number, each.lossless) for each in profile.queues] == [(0, False), (3, True), (5, True)]
    text = write("junos", None, switch)
    assert text.inexpressible == ()
    assert read("junos", text.change) == switch
    assert "input ieee-802.1 code-point 011 pfc mru 2240\n" in text.change
    assert "spare input cable-length 40" in text.change
    tags = "delete class-of-service congestion-notification-profile tags input"
    taken = f"{tags} ieee-802.1 code-point 011 pfc\n{tags} cable-length\n"
    [left] = read("junos", text.change + taken).profiles
    assert (left.pfc, left.cable) == ((4,), None)


def test_a_profile_that_pauses_by_tags_and_by_code_points_is_listed() -> None:
    # Junos allows one of them in a congestion notification profile.
    start = "set class-of-service congestion-notification-profile p input"
    both = f"{start} ieee-802.1 code-point 011 pfc\n{start} dscp code-point 011010 pfc\n"
    [unread] = read("junos", both).unread
    assert unread.text.endswith("dscp code-point 011010 pfc")


WILD = """groups {
    PORTS {
        interfaces { <xe-*> { mtu 9216; speed 25g; } }
        class-of-service { interfaces { "<xe-0/0/[0-1]>" { scheduler-map m; } } }
    }
    FEW { class-of-service { interfaces { <et-*> { scheduler-map m; } } } }
}
apply-groups PORTS;
interfaces { xe-0/0/0 { mtu 1500; } xe-0/0/1 { description two; } xe-0/0/2 { description three; } }
class-of-service {
    forwarding-classes { class web queue-num 0; }
    schedulers { s { transmit-rate percent 50; } }
    scheduler-maps {
        m { forwarding-class web scheduler s; }
        n { forwarding-class web scheduler s; }
    }
    interfaces {
        xe-0/0/0 { scheduler-map n; }
        xe-0/0/1 { congestion-notification-profile p; }
        xe-0/0/2 { congestion-notification-profile p; }
        et-0/0/7 { APPLIED }
        et-0/0/8 { congestion-notification-profile p; }
    }
}
"""


def maps(switch: Switch) -> dict[str, tuple[str, int | None, int | None]]:
    """Return the name of the maps, the MTU and the rate in Gbit/s of each port."""
    return {
        port: (str(each.name).split()[0], each.mtu, each.rate and each.rate // 10**9)
        for each in switch.profiles
        for port in each.ports
    }


def test_a_group_gives_what_it_says_to_whatever_is_there_and_matches() -> None:
    applied = "apply-groups FEW;"
    switch = read("junos", WILD.replace("APPLIED", applied))
    assert switch.unread == ()
    assert maps(switch) == {
        # Statements of the port itself take precedence: its map and its MTU.
        "xe-0/0/0": ("n", 1500, 25),
        "xe-0/0/1": ("m", 9216, 25),
        # Not of [0-1].
        "xe-0/0/2": ("-", 9216, 25),
        # FEW is applied there, and not at its neighbour.
        "et-0/0/7": ("m", None, None),
        "et-0/0/8": ("-", None, None),
    }
    text = write("junos", None, switch)
    assert replace(read("junos", text.change), notes=()) == replace(switch, notes=())


def test_a_group_that_is_excepted_or_matches_nothing_gives_nothing() -> None:
    text = WILD.replace("APPLIED", "congestion-notification-profile p;")
    switch = read("junos", text)
    [unread] = switch.unread
    assert unread.text == "groups FEW class-of-service interfaces <et-*> scheduler-map m"
    assert any("group FEW" in note.what for note in switch.notes)
    excepted = text.replace("xe-0/0/1 { cong", "xe-0/0/1 { apply-groups-except PORTS; cong")
    assert maps(read("junos", excepted))["xe-0/0/1"] == ("-", 9216, 25)


def test_two_wildcards_of_a_group_that_differ_are_listed_and_not_guessed() -> None:
    start = "set groups G class-of-service interfaces"
    text = (
        f"{start} <xe-*> scheduler-map m\n{start} <*-0/0/1> scheduler-map n\nset apply-groups G\n"
        "set class-of-service interfaces xe-0/0/1 congestion-notification-profile p\n"
    )
    switch = read("junos", text)
    assert len(switch.unread) == 2
    assert maps(switch) == {"xe-0/0/1": ("-", None, None)}
    same = read("junos", text.replace("scheduler-map n", "scheduler-map m"))
    assert maps(same) == {"xe-0/0/1": ("m", None, None)}
