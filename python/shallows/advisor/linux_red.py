"""Arithmetic of tc and the kernel for `red`: iproute2's q_red.c and tc_red.c, Linux' net/red.h.

The kernel stores the probability at the maximum as a 32-bit number, in units of 2^-32. tc multiplies by 2^32
in floating point, so the probability 1 overflows. On x86, an overflow gives 0. For 0, the kernel
computes the probability as (max - min) / 2^Plog.
"""

import math
from fractions import Fraction

AVERAGE_PACKET = 1_000
"""Average packet size in bytes (`avpkt`), as tc-red(8) recommends; q_red.c requires a value."""

PROBABILITY = Fraction(1, 50)
"""Probability that tc uses if a command gives none (q_red.c)."""

CERTAIN = "0.9999999997"
"""The largest probability of ten digits that does not overflow: 4,294,967,294 of 2^32. tc prints it as 1."""

MOST_SIZE = (1 << 32) - 1
"""Largest limit or threshold in bytes: `get_size` of lib/utils_math.c rejects sizes above UINT_MAX."""

_ONE = 1 << 32


def weight_of(minimum: int, burst: int, average: int = AVERAGE_PACKET) -> int | None:
    """Return the smallest exponent N ≥ 1 for which an average with the weight 2^-N accepts a burst.

    tc computes this exponent in `tc_red_eval_ewma` of iproute2. The result is None if that function rejects
    the burst.

    >>> weight_of(200_000, 200), weight_of(30_000, 55), weight_of(200_000, 100)
    (1, 5, None)
    """
    beyond = burst + 1 - minimum / average
    if beyond < 1:
        return None
    for number in range(1, 32):
        share = 0.5**number
        if beyond <= (1 - math.pow(1 - share, burst)) / share:
            return number
    return None


def plog_of(span: int, probability: Fraction) -> int | None:
    """Return tc's Plog for a probability over `span` bytes: the least N with probability · 2^N above `span`.

    Computed as in `tc_red_eval_P` of iproute2; None if that function fails, for example for probability 0.

    >>> plog_of(60_000, Fraction(1)), plog_of(60_000, Fraction(0))
    (16, None)
    """
    if span <= 0:
        return None if span < 0 else 0
    return next((number for number in range(32) if probability * 2**number > span), None)


def probability_of(plog: int, span: int) -> Fraction:
    """Return the probability that the kernel computes from Plog: about span / 2^Plog.

    As in `red_set_parms` of net/red.h, ((2^32 - 1) >> Plog) · span is truncated to 32 bits. The result has
    six digits, as tc prints it.

    >>> float(probability_of(16, 60_000)), float(probability_of(21, 205_000))
    (0.915513, 0.0977039)
    """
    most = _ONE - 1 if plog >= 32 else (_ONE - 1) >> plog
    held = most * max(span, 1) % _ONE
    return Fraction(f"{held / _ONE:.6g}")


def applied(span: int, probability: Fraction) -> Fraction | None:
    """Return the probability that the kernel applies if tc is given `probability`; None if tc rejects it.

    >>> float(applied(60_000, Fraction(1, 50))), float(applied(60_000, Fraction(1)))
    (0.02, 0.915513)
    """
    plog = plog_of(span, probability)
    if plog is None or not 0 < probability <= 1:
        return None
    if probability == Fraction(CERTAIN):
        return Fraction(1)
    held = int(probability * _ONE) % _ONE
    return probability if held else probability_of(plog, span)


def fits(threshold: int, weight: int) -> bool:
    """Return whether the kernel accepts a threshold: its bit length plus `weight` must be below 32.

    The kernel's function is `red_check_params`.

    >>> fits((1 << 30) - 1, 1), fits(1 << 30, 1), fits(1 << 27, 4)
    (True, False, False)
    """
    return threshold.bit_length() + weight < 32
