"""What commands are told beside a switch's file."""

import argparse

from shallows.advisor.chips import chip
from shallows.advisor.hints import of_fabric, of_options
from shallows.advisor.resolved import Hints


def given(options: argparse.Namespace) -> Hints:
    """What `--fabric`, `--chip`, `--rate` and, where there is one, `--rtt` say.

    Raises
    ------
    ShallowsError
        If one is not what it should be.
    """
    beside = of_fabric(options.fabric) if options.fabric is not None else Hints()
    named = chip(options.chip) if options.chip is not None else None
    return of_options(options.rate, getattr(options, "rtt", None), named, beside)
