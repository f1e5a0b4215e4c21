"""Options of `strategy-lab ui` that packages add, by entry points of `strategy_lab.ui_options`."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from strategy_profiles.registered import loaded

_DEST = "added_"


class UiOption(Struct, frozen=True):
    """One option. The lab's process has its value in `strategy_app.server.state.lab().options`."""

    flag: str
    """`--its-name`."""
    parse: Callable[[str], Any]
    """Reads its value, as the `type` of an argument of `argparse`."""
    help: str

    @property
    def name(self) -> str:
        """The key of its value."""
        return self.flag.lstrip("-").replace("-", "_")


def add_ui_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of packages; one that cannot be loaded, or is the lab's own, is left out."""
    for option in _added():
        with contextlib.suppress(argparse.ArgumentError):
            parser.add_argument(
                option.flag,
                type=option.parse,
                help=option.help,
                dest=_DEST + option.name,
                metavar=option.name.upper(),
            )


def given_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of packages that have a value, by name."""
    values = {option.name: getattr(arguments, _DEST + option.name, None) for option in _added()}
    return {name: value for name, value in values.items() if value is not None}


def as_arguments(values: Mapping[str, Any]) -> list[str]:
    """The options as the arguments of a command."""
    flags = {option.name: option.flag for option in _added()}
    return [text for name, value in values.items() for text in (flags[name], str(value))]


def _added() -> list[UiOption]:
    return list(loaded("ui_options", UiOption)[0].values())
