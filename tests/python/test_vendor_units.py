"""Tests of conversions between percent, cells, times and bytes; values without a needed input are listed."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shallows.advisor.chips import chip
from shallows.advisor.configuration import (
    Allotment,
    Curve,
    Marking,
    Pool,
    PortProfile,
    Queue,
    Scheduler,
    Switch,
    Threshold,
    Unit,
)
from shallows.advisor.resolved import Hints, resolve
from shallows.advisor.units import converted
from shallows.advisor.writers import write
from shared import Shell
from vendors import read

JUNOS = """class-of-service {
    forwarding-classes { class WEB queue-num 1; class REST queue-num 0; }
    drop-profiles { d { interpolate { fill-level [ 10 20 ]; drop-probability [ 0 100 ]; } } }
    shared-buffer { egress {
        buffer-partition lossy { percent 50; dynamic-threshold 9; }
        buffer-partition lossless { percent 50; } } }
    schedulers {
        web {
            transmit-rate percent 60;
            shaping-rate percent 40;
            drop-profile-map loss-priority any protocol any drop-profile d;
            explicit-congestion-notification;
        }
        rest { transmit-rate { remainder; } }
    }
    scheduler-maps { m { forwarding-class WEB scheduler web; forwarding-class REST scheduler rest; } }
    interfaces { et-0/0/1 { scheduler-map m; } }
}
"""

SHARED = Hints(pool=10_000_000, rate=10**11)


def ends(switch: Switch) -> list[Threshold | None]:
    [marking] = switch.markings
    return [marking.curves[0].minimum, marking.curves[0].maximum]


def queue_of(switch: Switch, number: int) -> Queue:
    return next(queue for _, queue in switch.queues() if queue.number == number)


def one(unit: Unit, low: int, high: int, allotment: Allotment | None = None, **of: object) -> Switch:
    """Return a switch with one queue that marks."""
    least, most = (Threshold(Fraction(count), unit) for count in (low, high))
    queue = Queue(3, marking="M", allotment=allotment)
    told = Switch(
        "sonic",
        profiles=(PortProfile(("Ethernet0",), queues=(queue,)),),
        markings=(Marking("M", (Curve(least, most),)),),
    )
    return replace(told, **of)  # type: ignore[arg-type]


@pytest.mark.parametrize("format_", ["sonic", "nvue", "nxos", "eos", "avd", "tc"])
def test_percent_of_what_a_queue_may_hold_are_bytes(format_: str) -> None:
    # Half of 10 MB is the partition's, and with its alpha of 4 the only busy queue may hold 4/5: 4 MB.
    made = converted(read("junos", JUNOS), format_, SHARED)
    assert ends(made.switch) == [Threshold.of_bytes(400_000), Threshold.of_bytes(800_000)]
    assert any("10 % is written as 400 KB" in each and "the only busy one" in each for each in made.said)
    assert queue_of(made.switch, 1).allotment == Allotment("egress.lossy", alpha=Fraction(4))


def test_what_is_written_in_bytes_is_read_back_as_the_same_percent() -> None:
    there = write("nxos", None, converted(read("junos", JUNOS), "nxos", SHARED).switch).change
    assert "minimum-threshold 400 kbytes maximum-threshold 800 kbytes" in there
    # NX-OS has no pools: all that is shared is the queue's, so that half of it is what the partition was.
    back = converted(read("nxos", there), "junos", replace(SHARED, pool=5_000_000))
    text = write("junos", None, back.switch).change
    assert "fill-level [ 10 20 ]" in text


UNKNOWN = [
    (JUNOS, Hints(), "buffer.pool of --fabric says it"),
    (JUNOS, Hints(chip=chip("tomahawk5")), "buffer.pool of --fabric says it"),
    (JUNOS.replace("dynamic-threshold 9;", ""), SHARED, "its alpha is the platform's default"),
    (JUNOS.replace("scheduler-map m;", ""), SHARED, ""),
]


@pytest.mark.parametrize(("text", "hints", "reason"), UNKNOWN)
def test_percent_of_what_is_not_known_stay_percent_and_the_reason_is_said(
    text: str, hints: Hints, reason: str
) -> None:
    made = converted(read("junos", text), "sonic", hints)
    if not reason:  # No port uses the map, but the number of the queue follows from it.
        assert all(each and each.unit == "bytes" for each in ends(made.switch))
        return
    assert [each and each.unit for each in ends(made.switch)] == ["percent", "percent"]
    assert any("web: 10 %: " in each and reason in each for each in made.said)


def test_bytes_are_whole_percent_of_what_the_queue_may_hold_and_said_to_be_rounded() -> None:
    # alpha 1 of 10 MB lets one queue hold 5 MB: 512,000 B are 10.24 % of that.
    share = Allotment("p", alpha=Fraction(1))
    made = converted(one("bytes", 512_000, 5_000_000, share, pools=(Pool("p", size=10**7),)), "junos")
    assert ends(made.switch) == [Threshold(Fraction(10), "percent"), Threshold(Fraction(100), "percent")]
    assert any("512 KB is written as 10 %" in each for each in made.said)
    more = converted(one("bytes", 512_000, 5_000_001, share, pools=(Pool("p", size=10**7),)), "junos")
    assert any("more than the queue may hold" in each for each in more.said)


@settings(max_examples=100, derandomize=True, deadline=None, database=None)
@given(st.integers(0, 100), st.integers(10_000, 10**9), st.integers(-7, 3))
def test_whole_percent_survive_bytes_and_back(share: int, pool: int, power: int) -> None:
    allotment = Allotment(alpha=Fraction(2) ** power)
    hints = Hints(pool=pool)
    there = converted(one("percent", share, 100, allotment, format="junos"), "sonic", hints).switch
    assert ends(there)[0] != Threshold(Fraction(share), "percent")
    back = converted(replace(there, format="sonic"), "junos", hints).switch
    held = resolve(there, hints).classes[0].limit
    assert held is not None
    # Whole bytes are finer than whole percent as soon as a percent is more than two of them.
    if held.most >= 200:
        assert ends(back)[0] == Threshold(Fraction(share), "percent")


def test_cells_take_the_chip_and_times_the_rate() -> None:
    # A cell of Tomahawk is 208 B; at 100 Gbit/s a port sends 12,500 B in a microsecond.
    cells = one("cells", 100, 1000)
    assert ends(converted(cells, "sonic", Hints(chip=chip("tomahawk"))).switch)[0] == Threshold.of_bytes(
        20_800
    )
    assert any("name the chip with --chip" in each for each in converted(cells, "sonic").said)
    assert ends(converted(cells, "eos").switch) == ends(cells)
    times = one("ps", 10**6, 2 * 10**6)
    assert ends(converted(times, "nxos", Hints(rate=10**11)).switch)[1] == Threshold.of_bytes(25_000)
    assert any("set it with --rate" in each for each in converted(times, "nxos").said)
    two = replace(times.profiles[0], ports=("Ethernet4",), rate=10**10)
    mixed = converted(replace(times, profiles=(*times.profiles, two)), "sonic", Hints(rate=10**11))
    assert any("12.5 KB" in each and "no single threshold" in each for each in mixed.said)


def test_shares_of_the_rate_are_rates_where_the_rate_is_known() -> None:
    switch = read("junos", JUNOS)
    web = queue_of(converted(switch, "sonic", SHARED).switch, 1).scheduler
    assert web is not None
    assert (web.shape, web.shape_percent, web.percent) == (4 * 10**10, None, Fraction(60))
    # What is left of 100 % where others have 60.
    rest = queue_of(converted(switch, "sonic", SHARED).switch, 0).scheduler
    assert rest is not None
    assert (rest.percent, rest.remainder) == (Fraction(40), False)
    unknown = converted(switch, "sonic")
    assert any("at most 40 % of the rate: --rate gives it" in each for each in unknown.said)
    eos = write("eos", None, converted(switch, "eos").switch).change
    assert "shape rate 40 percent" in eos
    assert "shape rate 40 percent" in write("eos", None, read("eos", eos)).change
    size = JUNOS.replace("shaping-rate", "buffer-size")
    assert any(
        "buffer-size percent 40 of scheduler web" in each
        for each in converted(read("junos", size), "eos").said
    )


def test_a_guaranteed_rate_is_percent_where_it_is_a_whole_one() -> None:
    def told(rate: int) -> Switch:
        queue = Queue(1, Scheduler("dwrr", guaranteed=rate))
        return Switch("sonic", profiles=(PortProfile(("Ethernet0",), 10**11, queues=(queue,)),))

    assert (
        "bandwidth guaranteed percent 25"
        in write("eos", None, converted(told(25 * 10**9), "eos").switch).change
    )
    odd = converted(told(10**9 // 3), "eos")
    assert any("no whole percent" in each for each in odd.said)


def test_the_command_line_takes_what_percent_are_of_from_a_fabric(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "leaf.conf").write_text(JUNOS)
    (tmp_path / "fabric.toml").write_text('[links]\nrate = "100Gbps"\n[buffer]\npool = "10MB"\n')
    done = shell("export", "switch", "leaf.conf", "--to", "sonic", "--fabric", "fabric.toml")
    assert done.returncode == 0, done.stderr
    assert '"green_min_threshold": "400000"' in done.stdout
    assert '"pir": "5000000000"' in done.stdout
    assert '"size": "5000000"' in done.stdout
    without = shell("export", "switch", "leaf.conf", "--to", "sonic")
    assert "green_min_threshold" not in without.stdout
    assert "how much queues share is not known" in without.stderr
