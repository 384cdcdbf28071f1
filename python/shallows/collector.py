"""Python's cyclic garbage collector, which traverses again and again what has been built."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Build many objects, all of which are kept, in a time that grows with their number.

    The collector starts after so many new objects (`gc.set_threshold`), and every few starts it traverses
    every object of the process: half of the time to read a configuration of 80,000 lines. Reference counts
    still free what is in no cycle. As a decorator, `@paused()`, it pauses the collector in each call.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
