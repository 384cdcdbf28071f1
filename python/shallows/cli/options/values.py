"""Types of arguments: each parses a text, or raises `ArgumentTypeError` with the allowed values."""

import argparse


def override(text: str) -> tuple[str, str]:
    """Split `KEY=VALUE` at its first equals sign."""
    key, equals, value = text.partition("=")
    if not (key.strip() and equals):
        raise argparse.ArgumentTypeError(f"must be KEY=VALUE, such as workload.0.load=0.6, got {text!r}")
    return key.strip(), value.strip()


def names(text: str) -> list[str]:
    """Split a list of names at its commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def natural(text: str) -> int:
    """Parse a whole number from 0 to 2^63 - 1."""
    from shallows.bounded import quoted, whole

    if (number := whole(text)) is None:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to 2^63 - 1, got {quoted(text)}")
    return number


def seed(text: str) -> int:
    """Parse a whole number; the engine checks the range of seeds."""
    from shallows.bounded import quoted, whole

    if (number := whole(text, most=10**30)) is None:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {quoted(text)}")
    return number


def positive(text: str) -> int:
    """Parse a whole number of at least 1."""
    number = natural(text)
    if number == 0:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {text}")
    return number


def dilation(text: str) -> int:
    """Parse a time dilation factor from 1 to 10000."""
    factor = positive(text)
    if factor > 10_000:
        raise argparse.ArgumentTypeError(f"must be at most 10000, got {text}")
    return factor


def port(text: str) -> int:
    """Parse a TCP port; 0 selects a free port."""
    if (number := natural(text)) > 65_535:
        raise argparse.ArgumentTypeError(f"must be a port from 0 to 65535, got {text}")
    return number


def budget(text: str) -> float:
    """Parse a time such as `90s`, `20min` or `2h`; return it in seconds."""
    from shallows.bounded import quoted

    for unit, scale in (("min", 60.0), ("h", 3600.0), ("s", 1.0)):
        number = text.removesuffix(unit)
        is_number = number != text and number.replace(".", "", 1).isdecimal() and len(number) < 10
        if is_number and float(number) > 0:
            return float(number) * scale
    raise argparse.ArgumentTypeError(f"must be a time such as 90s, 20min or 2h, got {quoted(text)}")
