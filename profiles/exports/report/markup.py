"""Injection-safe HTML: text is escaped on input, and only `tag` creates markup.

tag("p", "a < b", class_="note")    ->   <p class="note">a &lt; b</p>
"""

from __future__ import annotations

import html
import json
from typing import Any

_CONTROLS = (*range(9), 11, 12, *range(14, 32), *range(127, 160), *range(0xD800, 0xE000))
_SEPARATORS_AND_DIRECTIONS = (0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_UNSEEN = dict.fromkeys((*_CONTROLS, *_SEPARATORS_AND_DIRECTIONS), "·")
_VOID = frozenset({"meta", "br", "input", "link", "col"})


class Markup(str):
    """A piece of safe HTML. A plain `str` is text and is escaped."""

    __slots__ = ()


def tag(
    name: str, *children: Markup | str | int | None, **attributes: str | int | bool | None
) -> Markup:
    """Return an element. `class_` is `class`, `data_x` is `data-x`; None and False are omitted."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children: Markup | str | int | None) -> Markup:
    """Concatenate children; text is escaped, None is omitted."""
    return Markup("".join(escape(child) for child in children if child is not None))


def escape(text: object) -> Markup:
    """Escape text. Control characters and direction overrides become a middle dot."""
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(str(text).translate(_UNSEEN), quote=True))


def json_block(name: str, document: Any) -> Markup:
    """Return a JSON data block that its contents cannot end or turn into a script.

    An escaped `<` can neither end the block nor start a comment. U+2028 and U+2029 are escaped like
    all non-ASCII characters.
    """
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="application/json" id="{escape(name)}">{text}</script>')


def _attribute(key: str, value: str | int | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(value)}"'
