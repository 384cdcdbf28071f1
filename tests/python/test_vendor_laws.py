"""Tests of reading and writing: each configuration can be written and read again, and each change undone."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shallows.advisor.configuration import Allotment, Curve, Queue, Scheduler, Switch, Threshold
from shallows.advisor.writers import FORMATS, write
from vendors import SAMPLES, applied, read, sample

laws = settings(
    max_examples=40, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)

every_format = pytest.mark.parametrize("format_", FORMATS)

HIGHEST = {"percent": 100, "bytes": 10**9, "cells": 10**6, "ps": 10**9}


def other_curve(draw: st.DrawFn, format_: str, curve: Curve) -> Curve:
    """Draw another curve that the format can express; values that were unset remain unset."""
    ends = [curve.minimum, curve.maximum]
    if all(ends):
        unit = ends[0].unit if ends[0] else "bytes"
        least = 10_000 if format_ == "tc" else 1
        # tc_red_eval_P refuses 1 % over 2^31 / 100 bytes or more, from minimum to maximum.
        most = 20_000_000 if format_ == "tc" else HIGHEST[unit]
        numbers = sorted(draw(st.lists(st.integers(least, most), min_size=2, max_size=2)))
        ends = [Threshold(Fraction(number), unit) for number in numbers]
    share = curve.probability
    if share is not None and format_ != "nvue":
        share = Fraction(draw(st.integers(1, 100)), 100)
    weight = curve.weight
    if weight is not None and format_ in ("eos", "avd", "nxos"):
        weight = draw(st.integers(0, 15))
    return replace(curve, minimum=ends[0], maximum=ends[1], probability=share, weight=weight)


def other_scheduler(draw: st.DrawFn, format_: str, scheduler: Scheduler) -> Scheduler:
    most = 100 if format_ == "sonic" else 1 << 20
    weight = None if scheduler.weight is None else draw(st.integers(1, most))
    share = None if scheduler.percent is None else Fraction(draw(st.integers(1, 100)))
    return replace(scheduler, weight=weight, percent=share)


def other_allotment(draw: st.DrawFn, allotment: Allotment) -> Allotment:
    alpha = None if allotment.alpha is None else Fraction(2) ** draw(st.integers(-7, 3))
    kept = [
        None if size is None else Threshold(Fraction(draw(st.integers(1, 10**9))), size.unit)
        for size in (allotment.reserved, allotment.limit)
    ]
    return replace(allotment, alpha=alpha, reserved=kept[0], limit=kept[1])


@st.composite
def others(draw: st.DrawFn, format_: str) -> Switch:
    """Draw the sample's switch with other numbers; settings that were equal remain equal."""
    switch = read(format_, sample(format_))
    markings = tuple(
        replace(each, curves=tuple(other_curve(draw, format_, curve) for curve in each.curves))
        for each in switch.markings
    )
    schedulers: dict[object, Scheduler] = {}
    allotments: dict[object, Allotment] = {}

    def changed(queue: Queue) -> Queue:
        scheduler, allotment = queue.scheduler, queue.allotment
        if scheduler:
            key = (scheduler, scheduler.name)
            scheduler = schedulers.setdefault(key, other_scheduler(draw, format_, scheduler))
        if allotment:
            allotment = allotments.setdefault((allotment, allotment.name), other_allotment(draw, allotment))
        return replace(queue, scheduler=scheduler, allotment=allotment)

    profiles = tuple(
        replace(profile, queues=tuple(changed(queue) for queue in profile.queues))
        for profile in switch.profiles
    )
    return replace(switch, markings=markings, profiles=profiles)


@every_format
def test_what_is_read_is_written_and_read_again(format_: str) -> None:
    switch = read(format_, sample(format_))
    text = write(format_, None, switch)
    assert text.inexpressible == ()
    assert read(format_, text.change) == switch


@every_format
def test_no_change_is_written_as_nothing(format_: str) -> None:
    switch = read(format_, sample(format_))
    text = write(format_, switch, switch, {"host-facing/1": "a reason alone is no change"})
    assert (text.change, text.rollback) == ("", "")


@every_format
@laws
@given(data=st.data())
def test_other_numbers_are_written_and_read_again(format_: str, data: st.DataObject) -> None:
    switch = data.draw(others(format_))
    text = write(format_, None, switch)
    assert text.inexpressible == ()
    assert read(format_, text.change) == switch


@every_format
@laws
@given(data=st.data())
def test_a_change_that_is_rolled_back_leaves_what_was_there(format_: str, data: st.DataObject) -> None:
    before, after = read(format_, sample(format_)), data.draw(others(format_))
    text = write(format_, before, after)
    there = applied(format_, write(format_, None, before).change, text.change)
    assert read(format_, there) == after
    assert read(format_, applied(format_, there, text.rollback)) == before


@every_format
def test_a_change_says_no_more_than_what_differs(format_: str) -> None:
    before = read(format_, sample(format_))
    wanted = next(each for each in before.markings if each.scope == "queue" and each.marks_ect)
    curve = next(each for each in wanted.curves if each.marks_ect)
    assert curve.maximum is not None
    raised = replace(curve, maximum=replace(curve.maximum, amount=curve.maximum.amount + 1))
    curves = tuple(raised if each is curve else each for each in wanted.curves)
    markings = tuple(replace(each, curves=curves) if each is wanted else each for each in before.markings)
    text = write(format_, before, replace(before, markings=markings), {wanted.name: "bursts are longer"})
    count = str(raised.maximum and raised.maximum.amount)
    assert count in text.change
    assert count not in text.rollback
    if format_ != "sonic":
        assert "bursts are longer" in text.change
    others = [each.name for each in before.markings if each.name not in (wanted.name, "global-buffer")]
    if format_ == "sonic":
        assert [each["path"] for each in json.loads(text.change)] == [
            f"/WRED_PROFILE/{wanted.name}/green_max_threshold"
        ]
    elif format_ == "nvue":
        assert len(text.change.splitlines()) == 2
    assert not any(f"{other} " in text.change for other in others)


def test_sonic_raises_the_maximum_first_and_lowers_it_last() -> None:
    before = read("sonic", sample("sonic"))
    marking = next(each for each in before.markings if each.name == "WEB")

    def at(amount: int) -> Switch:
        size = Threshold.of_bytes(amount)
        told = replace(marking, curves=(replace(marking.curves[0], minimum=size, maximum=size),))
        return replace(before, markings=tuple(told if each is marking else each for each in before.markings))

    for amount, order in ((300_000, ["max", "min"]), (100_000, ["min", "max"])):
        paths = [each["path"] for each in json.loads(write("sonic", before, at(amount)).change)]
        assert paths == [f"/WRED_PROFILE/WEB/green_{end}_threshold" for end in order]


@pytest.mark.parametrize("source", SAMPLES)
@every_format
def test_each_format_becomes_each_other_or_says_what_is_lost(source: str, format_: str) -> None:
    switch = read(source, sample(source))
    text = write(format_, None, switch)
    again = read(format_, text.change)
    marks = {
        (marking.name, queue.number)
        for profile, queue in switch.queues()
        if (marking := switch.marking(queue.marking)) and marking.marks_ect
    }
    kept = [queue for _, queue in again.queues() if queue.marking]
    assert kept or text.inexpressible or not marks
    assert not again.unread


def distinct(count: int) -> Switch:
    """Return a switch with `count` ports with different profiles and classes."""
    switch = read("nxos", sample("nxos"))
    profile = next(each for each in switch.profiles if each.queues)
    profiles = tuple(
        replace(
            profile,
            ports=(f"Ethernet1/{place}",),
            name=profile.name and f"{profile.name}-{place}",
            queues=tuple(replace(each, name=f"class-{place}-{each.number}") for each in profile.queues),
            mtu=1500 + place,
        )
        for place in range(count)
    )
    return replace(switch, profiles=profiles)


def calls(work: Callable[[], object]) -> int:
    """Return the number of function calls that the work makes, a cost that does not depend on the machine."""
    counted = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


@every_format
def test_twice_as_many_ports_that_differ_take_about_twice_the_work(format_: str) -> None:
    write(format_, None, distinct(2))  # what is imported and compiled once is not counted
    few, many = (calls(partial(write, format_, None, distinct(count))) for count in (60, 120))
    # Junos asked all classes for each port: four times the work.
    assert many < 2.3 * few
