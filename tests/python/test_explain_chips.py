"""Tests of the table of chips: numbers agree with other sources, and settings are rounded for chips."""

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from shallows.advisor.chips import Sourced, catalogue, chip, chip_of_platform, dynamic_limit, sources
from shallows.errors import ShallowsError


@pytest.mark.parametrize(
    ("name", "memory", "parts"),
    [
        # SONiC ships these as `static_th` of the 7260CX3 and of the Z9332f: all of the chip's cells.
        ("tomahawk2", 44_302_336, 4),
        ("tomahawk3", 67_117_468, 2),
        # SONiC's pools: 145,269 cells of 96 B, 824,112 of 192 B.
        ("spectrum", 13_945_824, 1),
        ("spectrum4", 158_229_504, 1),
        ("trident4-x11", 134_861_808, 2),
        ("tomahawk", 4 * 20_165 * 208, 4),
    ],
)
def test_memory_is_what_shipped_configurations_say(name: str, memory: int, parts: int) -> None:
    found = chip(name)
    assert found.memory is not None
    assert found.parts is not None
    assert (found.memory.value, found.parts.value, found.part) == (memory, parts, memory // parts)


@pytest.mark.parametrize(
    ("percent", "legal"), [(0, 0), (1, 1), (10, 10), (11, 10), (20, 10), (30, 25), (90, 75), (100, 100)]
)
def test_xgs_takes_the_next_probability_below(percent: int, legal: int) -> None:
    assert chip("tomahawk").legal_probability(Fraction(percent, 100)) == Fraction(legal, 100)


def test_a_chip_of_which_nothing_is_known_takes_any_number() -> None:
    assert chip("q200").legal_probability(Fraction(1, 5)) == Fraction(1, 5)
    assert chip("q200").legal_alpha(Fraction(3)) == 3
    assert chip("j2").to_cells(1000) is None
    assert chip("j2").whole_cells(1000) == 1000
    assert chip("j2").occupancy(1000) == 1000


@pytest.mark.parametrize(
    ("alpha", "legal"),
    [(Fraction(16), Fraction(8)), (Fraction(1), Fraction(1)), (Fraction(1, 256), Fraction(1, 128))],
)
def test_alpha_is_the_next_below_or_the_least(alpha: Fraction, legal: Fraction) -> None:
    assert chip("th").legal_alpha(alpha) == legal


@pytest.mark.parametrize(
    ("name", "reserved"),
    [
        # Reserved bytes of a queue as SONiC ships them: a full frame in cells, with the chip's header.
        ("th2", 1664),
        ("th3", 1778),
        ("th4", 1778),
    ],
)
def test_a_full_frame_takes_the_cells_that_sonic_reserves(name: str, reserved: int) -> None:
    assert chip(name).occupancy(1518) == reserved


def test_a_dynamic_limit_falls_as_queues_get_busy() -> None:
    # Trident 3 as shipped: α 8 and 24.2 MB; 21.5, 5.9, 3.0 and 1.5 MB.
    shares = [dynamic_limit(Fraction(8), 24_190_000, busy) / 1e6 for busy in (1, 4, 8, 16)]
    assert shares == pytest.approx([21.5, 5.86, 2.98, 1.5], rel=0.01)


def test_names_are_of_one_chip_each_and_every_source_is_explained() -> None:
    names = Counter(name for each in catalogue() for name in (each.name, *each.aliases, *each.platforms))
    assert [name for name, count in names.items() if count > 1] == []
    for each in catalogue():
        facts: list[Sourced[Any] | None] = [each.cell, each.memory, each.parts, each.nominal, each.header]
        for fact in (*facts, each.alphas, each.marks_at):
            if fact is not None:
                assert fact.certainty in ("exact", "published", "inferred", "recall")
                assert fact.source
                assert fact.certainty != "exact" or fact.source.split(":")[0] in sources()


def test_platforms_tell_their_chip_and_others_none() -> None:
    found = chip_of_platform("Arista-7060X6-64PE-B-C512S2")
    assert found is not None
    assert found.name == "tomahawk5"
    assert chip_of_platform("x86_64-kvm_x86_64-r0") is None
    assert chip_of_platform("") is None


def test_an_unknown_chip_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ShallowsError, match="unknown chip 'trident9'") as caught:
        chip("trident9")
    assert "tomahawk" in caught.value.remedy
