"""Names of a package whose modules are imported when they are used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_of(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package with these names, each with the module that defines it.

    >>> names_of("shallows", {"rate": "shallows.quantity"})("rate")(10**10)
    '10 Gbps'

    Raises
    ------
    AttributeError
        By the function that is returned, for other names.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(homes[name])
        # A module is meant where it has no such name itself.
        return getattr(home, name, home) if home.__name__.endswith(f".{name}") else getattr(home, name)

    return find
