"""Tables of a run as polars frames; if a conversion to pandas fails, the error names missing packages."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from shallows.errors import ShallowsError


class Frame(pl.DataFrame):
    """Polars frame of a table in a run's folder."""

    def to_pandas(self, *arguments: Any, **options: Any) -> Any:
        """Convert to a pandas frame; polars documents the parameters.

        Raises
        ------
        ShallowsError
            If pandas or pyarrow is not installed.
        """
        try:
            return super().to_pandas(*arguments, **options)
        except ModuleNotFoundError as missing:
            raise ShallowsError(
                f"pandas or pyarrow is not installed: {missing}",
                "install both with: pip install 'shallows[pandas]'",
            ) from None


KINDS = {int: pl.Int64, float: pl.Float64, str: pl.String}
"""Polars types of columns, by Python type."""


def frame(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, type]) -> pl.DataFrame:
    """Return a frame of these rows with columns of these names and types. Any value may be None.

    >>> dict(frame([{"port": "a"}, {"port": None}], {"port": str}).schema)
    {'port': String}
    """
    columns = {name: [row[name] for row in rows] for name in kinds}
    return pl.DataFrame(columns, schema={name: KINDS[kind] for name, kind in kinds.items()})
