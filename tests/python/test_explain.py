"""Tests of `shallows explain` and `shallows chips`: terminal output, JSON, page, and options."""

import json
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

from pages import ROOT
from shallows.advisor import hints
from shallows.advisor.chips import chip
from shallows.advisor.configuration import Curve, Marking, Pool, PortProfile, Queue, Switch, Threshold
from shallows.advisor.explain import ZONES, Explanation, explain
from shallows.advisor.explained_page import page
from shallows.advisor.fabric import Fabric
from shallows.advisor.readers import sonic
from shallows.advisor.resolved import Hints, resolve
from shallows.errors import ShallowsError
from shared import HOSTILE, SHALLOWS
from sonic_files import Tables, curve, leaf, written

RTT = 30 * 10**6
"""30 µs, which is a bandwidth-delay product of 375 KB at 100 Gbit/s."""


def explained(tables: Tables, given: Hints | None = None) -> Explanation:
    switch = sonic.read(json.dumps(tables), "config_db.json")
    return explain(resolve(switch, given or Hints(rtt=RTT)))


def shallows(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [SHALLOWS, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60
    )


def test_curves_are_said_in_bytes_time_and_bandwidth_delay_products() -> None:
    found = explained(leaf())
    lossy, lossless = found.document()["classes"]
    # 208,000 B at 100 Gbit/s: 16.64 µs; of 375,000 B: 0.5547.
    assert (lossy["kmin_bytes"], lossy["kmax_bytes"], lossy["pmax"]) == (208_000, 208_000, 1.0)
    assert lossy["kmin_us"] == pytest.approx(16.64)
    assert lossy["kmin_bdp"] == pytest.approx(0.554_667)
    assert (lossless["kmin_bytes"], lossless["kmax_bytes"], lossless["pmax"]) == (208_000, 416_000, 0.1)
    assert (lossy["queue"], lossy["ports"], lossy["rate_bps"]) == (0, 4, 10**11)
    assert found.verdict.startswith(
        "Queue 0 marks from 208 KB (16.6 µs, 0.555 BDP at 100 Gbps) with up to 100 %. "
        "Queue 3 marks from 208 KB to 416 KB (16.6 to 33.3 µs, 0.555 to 1.11 BDP at 100 Gbps) with "
        "up to 10 %."
    )


def test_limits_are_those_of_the_dynamic_threshold_and_pauses_those_of_the_priority_group() -> None:
    lossy, lossless = explained(leaf()).document()["classes"]
    # αB/(1 + nα) with α 8 and 9,243,812 B, and 1664 B that are the queue's own.
    expected = {n: 1664 + 8 * 9_243_812 // (1 + 8 * n) for n in (1, 4, 8, 16)}
    assert lossy["limit_bytes"] == expected
    assert lossy["pause_bytes"] is None
    assert set(lossless["limit_bytes"].values()) == {15_982_720}
    assert lossless["pause_bytes"] == {n: 1248 + 10_875_072 // (1 + n) for n in (1, 4, 8, 16)}


def test_zones_say_who_is_marked_and_who_is_dropped() -> None:
    lossy, lossless = explained(leaf()).document()["classes"]
    assert list(lossless["zones"]["00 (not capable)"].values()) == [
        "passed",
        "dropped, up to 10 %",
        "dropped",
        "dropped",
    ]
    assert list(lossless["zones"]["01, 10 (capable)"].values()) == [
        "passed",
        "marked, up to 10 %",
        "marked",
        "dropped",
    ]
    # WRED is off, and the behaviour of a Tomahawk is then not documented.
    assert list(lossy["zones"]["00 (not capable)"].values())[1:] == [
        "platform decides",
        "platform decides",
        "dropped",
    ]
    tables = leaf()
    tables["DEVICE_METADATA"]["localhost"]["hwsku"] = "ACS-MSN2700"
    lossy, _ = explained(tables).document()["classes"]
    assert [lossy["zones"]["00 (not capable)"][zone] for zone in ZONES] == ["passed"] * 3 + ["dropped"]


def test_a_queue_that_drops_early_and_marks_nothing_drops_what_is_capable_as_well() -> None:
    tables = leaf()
    tables["WRED_PROFILE"]["LOSSLESS"]["ecn"] = "ecn_none"
    _, lossless = explained(tables).document()["classes"]
    assert len({tuple(row.values()) for row in lossless["zones"].values()}) == 1
    assert lossless["zones"]["01, 10 (capable)"]["above the maximum"] == "dropped"


def test_cells_times_and_shares_become_bytes_where_chip_rate_and_limit_are_known() -> None:
    def kmin(amount: int, unit: str, given: Hints) -> int | None:
        low = Threshold(Fraction(amount), unit)  # type: ignore[arg-type]
        switch = Switch(
            "eos",
            profiles=(PortProfile(("Ethernet1",), queues=(Queue(0, marking="M"),)),),
            markings=(Marking("M", (Curve(low, low),)),),
        )
        return resolve(switch, given).classes[0].kmin

    assert kmin(2000, "cells", Hints(chip=chip("th4"))) == 508_000
    assert kmin(2000, "cells", Hints()) is None
    assert kmin(320 * 10**6, "ps", Hints(rate=10**11)) == 4_000_000
    assert kmin(320 * 10**6, "ps", Hints()) is None
    assert kmin(55, "percent", Hints(chip=chip("th4"))) is None


def test_a_pool_that_marks_is_said_and_units_that_nobody_can_convert_stay() -> None:
    low, high = (Threshold(Fraction(cells), "cells") for cells in (9984, 14_976))
    curve = Curve(low, high, None)
    switch = Switch(
        "eos",
        profiles=(PortProfile(("Ethernet1",), queues=(Queue(0, marking="Q"),)),),
        markings=(Marking("global-buffer", (curve,), scope="pool"), Marking("Q", (curve,))),
        pools=(Pool("memory", marking="global-buffer"),),
    )
    found = explain(resolve(switch))
    assert found.verdict.startswith(
        "Queue 0 marks from 9,984 to 14,976 cells with an unknown probability. "
        "Pool memory marks from 9,984 to 14,976 cells with an unknown probability."
    )
    # Cells of a Tomahawk: 208 B.
    (pool,) = explain(resolve(switch, Hints(chip=chip("th")))).document()["pools"]
    assert (pool["kmin_bytes"], pool["kmax_bytes"]) == (2_076_672, 3_115_008)


def test_queues_of_one_number_with_several_profiles_are_told_apart_by_their_profile() -> None:
    ends = [Threshold(Fraction(size), "bytes") for size in (100_000, 200_000)]
    curves = [Curve(end, end, Fraction(1)) for end in ends]
    switch = Switch(
        "eos",
        profiles=tuple(
            PortProfile((f"Ethernet{at}",), queues=(Queue(3, marking=name),))
            for at, name in enumerate(("A", "B"), 1)
        ),
        markings=tuple(Marking(name, (each,)) for name, each in zip("AB", curves, strict=True)),
    )
    (table,) = [each for each in explain(resolve(switch)).tables if each.title == "What happens to a packet"]
    assert list(dict.fromkeys(row[0] for row in table.rows)) == ["3 (A)", "3 (B)"]


def test_the_screen_has_verdict_tables_findings_and_the_rest(tmp_path: Path) -> None:
    tables = leaf()
    tables["WRED_PROFILE"]["LOSSLESS"] = curve("208000", "416000", "20")
    tables["SCHEDULER"]["scheduler.0"]["colour"] = "blue"
    done = shallows("explain", written(tables, tmp_path), "--rtt", "30us")
    assert done.returncode == 0, done.stderr
    for words in (
        "sonic · leaf1 · Arista-7060CX-32S-C32 · Broadcom Tomahawk (BCM56960)",
        "Queue 0 marks from 208 KB (16.6 µs, 0.555 BDP at 100 Gbps) with up to 100 %.",
        "Where queues mark",
        "What the buffer allows",
        "What happens to a packet",
        "warning pmax-rounded LOSSLESS, green: the chip rounds 20 % down to 10 %",
        "Platform defaults",
        "Not understood",
        "config_db.json:SCHEDULER|scheduler.0 colour",
        "100 of 101 lines or values about queues were understood",
    ):
        assert words in done.stdout.replace("\n", " ").replace("  ", " ") or words in done.stdout


def test_of_ports_that_all_differ_the_screen_shows_some_and_says_how_many_more(tmp_path: Path) -> None:
    tables = leaf()
    ports = [f"Ethernet{number}" for number in range(100)]
    tables["PORT"] = {port: {"speed": "100000"} for port in ports}
    tables["WRED_PROFILE"] = {
        f"W{number}": curve(str(208_000 + number), str(416_000 + number), "7", wred="false")
        for number in range(100)
    }
    tables["QUEUE"] = {f"{port}|0": {"wred_profile": f"W{number}"} for number, port in enumerate(ports)}
    for table in ("BUFFER_QUEUE", "BUFFER_PG", "PORT_QOS_MAP", "CABLE_LENGTH"):
        del tables[table]
    screen = shallows("explain", written(tables, tmp_path)).stdout
    assert len(screen.splitlines()) < 200
    assert "and 60 more rows: --json has all" in screen  # 40 of 100 curves
    assert "and 92 more enable-false: --json has all" in screen  # 8 of 100
    assert len(json.loads(shallows("explain", "--json", written(tables, tmp_path)).stdout)["classes"]) == 100


def test_the_json_is_one_document_and_nothing_else(tmp_path: Path) -> None:
    done = shallows("explain", written(leaf(), tmp_path), "--json", "--html", tmp_path / "page.html")
    document = json.loads(done.stdout)
    assert document["format"] == "sonic"
    assert document["chip"] == "tomahawk"
    assert document["unread"] == []
    assert {finding["code"] for finding in document["findings"]} >= {"enable-false", "not-ect-dropped"}
    assert (tmp_path / "page.html").is_file()


def test_what_is_in_a_file_moves_no_cursor(tmp_path: Path) -> None:
    tables = leaf()
    tables["DEVICE_METADATA"]["localhost"]["hostname"] = "\x1b[2Jleaf\x07"
    tables["SCHEDULER"]["scheduler.0"]["\x1b[31m"] = "\x1b[5m"
    done = shallows("explain", written(tables, tmp_path))
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout


def test_the_page_is_safe_against_what_is_in_the_file() -> None:
    tables = leaf()
    tables["DEVICE_METADATA"]["localhost"]["hostname"] = HOSTILE
    tables["WRED_PROFILE"][HOSTILE] = tables["WRED_PROFILE"].pop("LOSSY")
    for row in tables["QUEUE"].values():
        if row["wred_profile"] == "LOSSY":
            row["wred_profile"] = HOSTILE
    tables["SCHEDULER"]["scheduler.0"][HOSTILE] = HOSTILE
    text = page(explained(tables), [HOSTILE])
    assert HOSTILE not in text
    assert "&lt;" in text
    harmless = page(explained(leaf()), ["config_db.json"])
    assert text.count("<script") == harmless.count("<script")
    assert text.count("<img") == harmless.count("<img")
    assert "Queue 3 marks from 208 KB" in harmless


def test_a_page_draws_each_curve_and_where_senders_are_paused() -> None:
    text = page(explained(leaf()), ["config_db.json"])
    assert "queue 3, from 16.6" in text
    assert "paused, 16 busy: queue 3" not in text  # beyond the axis: 640 KB
    tables = leaf()
    tables["WRED_PROFILE"]["LOSSLESS"] = curve("208000", "832000", "10")
    assert "paused, 16 busy: queue 3" in page(explained(tables), ["config_db.json"])


def test_a_fabric_says_chip_rate_round_trip_time_and_mtu(tmp_path: Path) -> None:
    fabric = tmp_path / "fabric.toml"
    fabric.write_text('chip = "th"\n[links]\nrate = "100Gbps"\nrtt = "30us"\nmtu = 9000\n')
    found = hints.of_fabric(fabric)
    assert (found.chip, found.rate, found.rtt, found.mtu) == (chip("tomahawk"), 10**11, RTT, 9000)
    # Two links each way, and four times through hosts: 2 · 2 · 1 + 4 · 5 µs.
    fabric.write_text('[links]\ndelay = "1us"\nhost_delay = "5us"\n')
    assert hints.of_fabric(fabric).rtt == 24 * 10**6
    fabric.write_text('[chip]\nmemory = "16MB"\ncell = "200B"\nparts = 4\nalphas = [0.5, 1]\n')
    described = hints.of_fabric(fabric).chip
    assert described is not None
    assert (described.part, described.whole_cells(450)) == (4_000_000, 400)
    assert described.legal_alpha(Fraction(2)) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chip = 3", "chip must be a name or a table"),
        ('chip = "trident9"', "unknown chip 'trident9'"),
        ("links = 3", "links must be a table"),
        ('[links]\nrate = "30us"', "links: rate must be a rate such as"),
        ('[links]\nrate = "0Gbps"', "links: rate must be a rate from 1Mbps"),
        ('[links]\nrtt = "-3us"', "links: rtt must be a time such as"),
        ("[links]\nmtu = 0", "links: mtu must be a number from 576"),
        ("[chip]\nparts = 0", "chip: parts must be a number from 1 to 64"),
        ('[chip]\nmemory = "0B"', "chip: memory must be a size from 10KB"),
        ("[chip]\nalphas = 3", "chip: alphas must be a list of numbers"),
        ("[links", "is not valid TOML"),
    ],
)
def test_a_fabric_that_says_what_cannot_be_is_refused(tmp_path: Path, text: str, message: str) -> None:
    fabric = tmp_path / "fabric.toml"
    fabric.write_text(text)
    with pytest.raises(ShallowsError) as caught:
        hints.of_fabric(fabric)
    assert message in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--chip", "trident9", "unknown chip 'trident9'"),
        ("--rtt", "100Gbps", "--rtt"),
        ("--rate", "fast", "--rate"),
        ("--fabric", "gone.toml", "gone.toml cannot be read"),
    ],
)
def test_options_that_are_none_are_refused(tmp_path: Path, option: str, value: str, words: str) -> None:
    done = shallows("explain", written(leaf(), tmp_path), option, value)
    assert done.returncode != 0
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_options_go_before_the_fabric_and_the_fabric_before_the_file(tmp_path: Path) -> None:
    path = written(leaf(), tmp_path)
    (tmp_path / "fabric.toml").write_text('chip = "th2"\n[links]\nrtt = "60us"\n')
    told = ("explain", path, "--json", "--fabric", tmp_path / "fabric.toml")
    assert json.loads(shallows(*told).stdout)["chip"] == "tomahawk2"
    found = json.loads(shallows(*told, "--chip", "td3", "--rtt", "30us").stdout)
    assert found["chip"] == "trident3"
    assert found["classes"][0]["kmin_bdp"] == pytest.approx(0.554_667)


def test_chips_are_listed_and_one_is_shown_with_its_sources() -> None:
    listed = shallows("chips").stdout
    assert "tomahawk5" in listed
    assert "16.8 MB" in listed
    one = shallows("chips", "TH").stdout
    assert "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 25, 50, 75, 100" in one
    assert "Broadcom-Network-Switching-Software/OpenBCM" in one
    document = json.loads(shallows("chips", "th", "--json").stdout)
    assert document["memory_bytes"] == {
        "value": 16_777_280,
        "certainty": "exact",
        "source": "OBCM: 20,165 per XPE",
    }
    assert len(json.loads(shallows("chips", "--json").stdout)) > 25
    assert shallows("chips", "trident9").returncode != 0


@pytest.mark.parametrize(
    "path", sorted((ROOT / "experiments" / "advisor").glob("*.toml")), ids=lambda path: path.stem
)
def test_a_fabric_that_is_advised_can_be_explained_with_the_same_numbers(path: Path) -> None:
    advised, explained = Fabric.load(path), hints.of_fabric(path)
    assert explained.chip is not None
    assert explained.rtt is not None
    assert explained.chip.memory is not None
    assert explained.chip.memory.value == advised.silicon.memory
    assert (explained.rate, explained.mtu) == (advised.links.rate, advised.links.mtu)
    assert explained.rtt == pytest.approx(advised.links.rtt * 1e12)


def test_the_cell_of_a_described_chip_is_a_number_of_bytes_or_a_size(tmp_path: Path) -> None:
    fabric = tmp_path / "fabric.toml"
    for cell in ("208", '"208B"'):
        fabric.write_text(f'[chip]\nmemory = "4MB"\ncell = {cell}\n')
        found = hints.of_fabric(fabric).chip
        assert found is not None
        assert found.whole_cells(1000) == 832
    fabric.write_text('[chip]\nmemory = "4MB"\ncell = "0B"\n')
    with pytest.raises(ShallowsError, match="cell must be a size in whole bytes"):
        hints.of_fabric(fabric)
