"""Tables of a run as frames, which say what their ways to other libraries need."""

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
