"""Names and messages from a run are shown as plain text, never as Markdown or HTML."""

from __future__ import annotations

import html
import re
from pathlib import PurePath

_UNIT = re.compile(r"(?<=\d) (?=%|[kMGT]?B\b|[mµ]?s\b)")
_PUNCTUATION = re.compile(r"([\\`*_{}\[\]()#+\-.!|~$:<>&^\"'/=@%])")


def plain(text: object, limit: int | None = None) -> str:
    """One line of printable characters, shortened in the middle to `limit`."""
    line = "".join(char if char.isprintable() else " " for char in str(text))
    line = " ".join(line.split())
    if limit is not None and len(line) > limit:
        keep = (limit - 1) // 2
        line = f"{line[: limit - 1 - keep]}…{line[-keep:]}"
    return line


def run_name(name: str, limit: int | None = None) -> str:
    """`plain` for the name of a run. Characters that no one sees, such as those that turn the
    direction of writing, are escaped: names that differ look different, and none is empty."""
    seen = (char if char.isprintable() else repr(char)[1:-1] for char in name)
    return plain("".join(seen), limit)


def bound(sentence: str) -> str:
    """A sentence whose numbers keep their units: no line ends between them."""
    return _UNIT.sub("\u00a0", sentence)


def as_sentence(text: str) -> str:
    """A message with a full stop: an error's own words may end without one."""
    return f"{text}." if re.search(r"[\w)\"']$", text) else text


def workload_name(workload: object) -> str:
    """A built-in workload's name; a file's without the folders before it."""
    return PurePath(str(workload)).name


def as_html(text: object, limit: int | None = None) -> str:
    """`plain`, escaped for HTML text and attributes."""
    return html.escape(plain(text, limit), quote=True)


_NAME = re.compile(r"(?=.*\w)[\w./:,=()\[\]{}+*'\"<>!?;@%&|~^# -]*")


def as_markdown(text: object, limit: int | None = None) -> str:
    """`plain`, with every character that Streamlit's Markdown could read as markup escaped."""
    return _escaped(plain(text, limit))


def sentence_as_markdown(sentence: str) -> str:
    """The same for a sentence: its numbers keep their units, and names and lines of a program
    between backticks are code."""
    parts = bound(plain(sentence)).split("`")
    if len(parts) % 2 == 0:  # one is left over
        parts[-2:] = ["`".join(parts[-2:])]
    return "".join(_code(part) if index % 2 else _escaped(part) for index, part in enumerate(parts))


def _code(name: str) -> str:
    return f"`{name}`" if _NAME.fullmatch(name) else _escaped(f"`{name}`")


def _escaped(line: str) -> str:
    return _PUNCTUATION.sub(r"\\\1", line)
