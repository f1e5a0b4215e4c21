"""Text of a run in Markdown that other programs render, such as GitHub's job summaries."""

from __future__ import annotations

import html
import re


def as_text(text: str) -> str:
    """A run's text (names of ops, of a workload) as text on one line: no markup and no HTML.

    A word after an @ names no one: GitHub would send that person a message.
    """
    printable = "".join(char if char.isprintable() else " " for char in text)
    for char in "\\`*_[]|#~":
        printable = printable.replace(char, f"\\{char}")
    return html.escape(printable, quote=False).replace("@", "@<!-- -->")


def code_block(text: str) -> str:
    """A block of code, for text that may contain such a block's end."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
