"""Tables of a run as frames, which say what their ways to other libraries need."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from shallows.errors import ShallowsError


class Frame(pl.DataFrame):
    """A polars frame as it is read from a run's folder."""

    def to_pandas(self, *arguments: Any, **options: Any) -> Any:
        """The same as a pandas frame; see polars for its parameters.

        Raises
        ------
        ShallowsError
            If pandas or pyarrow is not installed.
        """
        try:
            return super().to_pandas(*arguments, **options)
        except ModuleNotFoundError as missing:
            raise ShallowsError(
                f"a pandas frame needs pandas and pyarrow: {missing}",
                "install them with: pip install 'shallows[pandas]'",
            ) from None


KINDS = {int: pl.Int64, float: pl.Float64, str: pl.String}
"""Names of column types in polars."""


def frame(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, type]) -> pl.DataFrame:
    """Make a frame of rows with columns of these names and types. Each value may be missing.

    >>> dict(frame([{"port": "a"}, {"port": None}], {"port": str}).schema)
    {'port': String}
    """
    columns = {name: [row[name] for row in rows] for name in kinds}
    return pl.DataFrame(columns, schema={name: KINDS[kind] for name, kind in kinds.items()})
