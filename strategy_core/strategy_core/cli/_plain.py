"""Text from a profile as a terminal may show it: nothing in it steers the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text


def plain(value: object) -> str:
    """The text with everything that is not printable replaced by `�`."""
    return "".join(
        char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in str(value)
    )


def plain_text(value: object, style: str = "") -> Text:
    """Return `plain(value)` as a rich Text, in which rich interprets no markup."""
    from rich.text import Text  # long to import

    return Text(plain(value), style=style)
