"""Lazy imports: each name of a package is imported from its module on first use."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_of(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package; `homes` maps each name to the module that defines it.

    >>> names_of("shallows", {"rate": "shallows.quantity"})("rate")(10**10)
    '10 Gbps'

    Raises
    ------
    AttributeError
        The returned function raises this for all other names.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(homes[name])
        # If the module has no attribute of this name, the name stands for the module itself.
        return getattr(home, name, home) if home.__name__.endswith(f".{name}") else getattr(home, name)

    return find
