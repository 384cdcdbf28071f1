"""The current configuration as a candidate setting, as far as the simulation can express it."""

from collections.abc import Iterable
from fractions import Fraction

from shallows.advisor.advised import chosen_alpha
from shallows.advisor.candidates import TODAY, Candidate, Curve
from shallows.advisor.configuration import Marking, PortProfile, Queue, Switch
from shallows.advisor.fabric import Fabric
from shallows.advisor.resolved import Hints, limit_of
from shallows.advisor.unread import Unread, cited
from shallows.errors import ShallowsError


def today_of(switch: Switch, fabric: Fabric) -> tuple[Candidate, list[str]]:
    """Return the current configuration as a candidate setting, with notes on omissions and assumptions.

    Each class has the marking of its queue, in the profile that most ports have. If a fabric has one class
    whose queue marks nothing, the first queue that marks is used instead.

    Raises
    ------
    ShallowsError
        If no port has queues, or a threshold cannot be converted to bytes.
    """
    profile = most_frequent(switch.profiles)
    notes: list[str] = []
    if len(switch.profiles) > 1:
        notes.append(
            f"The switch has {len(switch.profiles)} kinds of ports; the most frequent kind is simulated."
        )
    by_number = {queue.number: queue for queue in profile.queues}
    numbers = [each.queue for each in fabric.classes]
    if len(numbers) == 1 and not _marks(switch, by_number.get(numbers[0])):
        marking = [queue.number for queue in profile.queues if _marks(switch, queue)]
        if marking:
            notes.append(
                f"Queue {numbers[0]} does not mark today; the setting of queue {marking[0]}, which marks, "
                "is simulated."
            )
            numbers = marking[:1]
    unread = Unread(switch.unread, "marking", "dropping")
    for number in numbers:
        if source := unread.about(profile, number):
            notes.append(f"The current setting of queue {number} is not fully known: {cited(source)}.")
    queues = tuple(_curve(switch, by_number.get(number), fabric, notes) for number in numbers)
    lossy = [number for number, each in zip(numbers, fabric.classes, strict=True) if not each.lossless]
    found = [_alpha(by_number.get(number)) for number in lossy]
    alphas = {float(each) for each in found if each is not None}
    if len(alphas) > 1:
        notes.append("The queues have different α today; the smallest is simulated for all queues.")
    alpha = min(alphas) if alphas else chosen_alpha(fabric)
    if lossy and not alphas:
        notes.append("The configuration does not specify α of the queues; the fabric's α is simulated.")
    pool = next((_pool(switch, fabric, each.marking, notes) for each in switch.pools if each.marking), None)
    groups = fabric.groups if fabric.lossless else None
    why = f"the {switch.format} configuration"
    return Candidate(TODAY, why, TODAY, queues, alpha, pool, groups=groups, lossy=fabric.has_lossy), notes


def most_frequent(profiles: Iterable[PortProfile]) -> PortProfile:
    """Return the profile that most ports have.

    Raises
    ------
    ShallowsError
        If no port has queues.
    """
    found = [each for each in profiles if each.queues]
    if not found:
        raise ShallowsError(
            "the configuration has no ports with queues",
            "`shallows explain` shows the statements that were read",
        )
    return max(found, key=lambda each: len(each.ports))


def _marks(switch: Switch, queue: Queue | None) -> bool:
    marking = switch.marking(queue.marking) if queue else None
    return marking is not None and marking.marking_curve() is not None


def _alpha(queue: Queue | None) -> Fraction | None:
    return queue.allotment.alpha if queue and queue.allotment and queue.allotment.alpha else None


def _curve(switch: Switch, queue: Queue | None, fabric: Fabric, notes: list[str]) -> Curve | None:
    limit = limit_of(switch, queue.allotment, None, memory_of(fabric)) if queue else None
    marking = switch.marking(queue.marking) if queue else None
    return in_bytes(marking, fabric, notes, limit.most if limit else None)


def memory_of(fabric: Fabric) -> Hints:
    """Return a fabric's facts about memory that no switch's file contains."""
    return Hints(
        rate=int(fabric.links.rate), pool=int(fabric.buffer.pool), reserved=int(fabric.buffer.reserved)
    )


def _pool(switch: Switch, fabric: Fabric, name: str | None, notes: list[str]) -> Curve | None:
    return in_bytes(switch.marking(name), fabric, notes)


def in_bytes(
    marking: Marking | None, fabric: Fabric, notes: list[str], limit: int | None = None
) -> Curve | None:
    """Return the curve of a marking; None if it never marks.

    `limit` is the queue's limit in bytes. If it is None, because the queue's α is unknown,
    the fabric's α gives the limit.

    Raises
    ------
    ShallowsError
        If a threshold cannot be converted to bytes.
    """
    curve = marking.marking_curve() if marking else None
    if marking is None or curve is None or curve.minimum is None or curve.maximum is None:
        return None
    if limit is None:
        alpha = chosen_alpha(fabric)
        limit = int(alpha * fabric.buffer.pool / (1 + alpha) + fabric.buffer.reserved)
    kmin, kmax = (
        each.bytes(cell=fabric.silicon.cell, rate=int(fabric.links.rate), limit=limit)
        for each in (curve.minimum, curve.maximum)
    )
    if kmin is None or kmax is None or kmin > kmax:
        raise ShallowsError(
            f"profile {marking.name}: thresholds must be in ascending order and convertible to bytes",
            "`shallows explain` shows the thresholds",
        )
    if curve.weight:
        notes.append(
            f"Profile {marking.name} uses an average backlog, with weight {curve.weight}; the "
            "simulation uses the current backlog."
        )
    if not curve.drops_not_ect and any(each.transport in ("reno", "cubic") for each in fabric.classes):
        passes = "passes" if curve.drops_not_ect is False else "may pass"
        notes.append(
            f"Profile {marking.name} {passes} packets that are not ECN-capable; the simulation drops them "
            "where ECN-capable packets are marked."
        )
    if curve.probability is None:
        notes.append(f"Profile {marking.name} does not specify a probability; 100 % is simulated.")
    if curve.probability == 0:
        return None
    # A threshold below one byte marks everything.
    return Curve(max(1, kmin), max(1, kmax), 1.0 if curve.probability is None else float(curve.probability))
