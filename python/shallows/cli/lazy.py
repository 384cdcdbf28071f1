"""Parsers of the command line, which are built on first use and suggest a similar name for a wrong name."""

import argparse
from collections.abc import Callable
from typing import Any, TypeAlias

from shallows.errors import did_you_mean

Options = Callable[[argparse.ArgumentParser], None]
"""Function that adds the options of a command to its parser."""


class Parser(argparse.ArgumentParser):
    """A parser that suggests the nearest allowed name in its error for a wrong name."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            near = did_you_mean(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, error.message + (f"; {near}" if near else "")) from None


class Command(Parser):
    """Parser of a command, built on first use, as building all parsers takes longer than most commands."""

    def __init__(self, options: Options, module: str, example: str, **of: Any) -> None:
        self._late = (options, module, example, of)

    def __getattr__(self, name: str) -> Any:
        # Python calls this method for missing attributes, so the first access to one builds the parser.
        if "_late" not in self.__dict__:
            raise AttributeError(name)
        options, module, example, of = self.__dict__.pop("_late")
        super().__init__(**of, epilog=example and f"example: {example}", allow_abbrev=False)
        self.set_defaults(command=module)
        options(self)
        return getattr(self, name)


Commands: TypeAlias = "argparse._SubParsersAction[Command]"


def add(
    commands: Commands, name: str, module: str, text: str, options: Options | None = None, example: str = ""
) -> None:
    """Add a command; `text` is its line of help and its description."""
    commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        options=options or _no_options,
        module=module,
        example=example,
    )


def _no_options(_: argparse.ArgumentParser) -> None:
    pass


def add_kinds(parser: argparse.ArgumentParser, kind: str) -> Commands:
    """Add subcommands to a command, such as `import hpcc`."""
    return parser.add_subparsers(title=f"{kind.lower()}s", metavar=kind, required=True, parser_class=Command)
