"""Keeps what is printed from being a command for the CI service that reads this output.

GitHub Actions obeys a line that begins with `::`, and it and Azure Pipelines obey `##[` and
`##vso[` anywhere in a line. A run may be a stranger's, so a character without width separates these
there. The value of a text in JSON stays what it is: there a character is escaped.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from strategy_profiles.user_input.text import as_utf8

_SPACE = "\N{ZERO WIDTH SPACE}"
_BEGINS = re.compile(r"^(\s*):(?=:|$)")
_INSIDE = re.compile(r"#(?=#(?:vso)?\[)", re.IGNORECASE)


class _Harmless:
    """A text stream without commands; with `is_json` all that is written to it is JSON."""

    def __init__(self, stream: TextIO, *, is_json: bool) -> None:
        self._stream = stream
        self._is_json = is_json
        self._is_at_start = True
        """Whether nothing but spaces has been written of the last line."""
        self.unguarded = getattr(stream, "unguarded", stream)

    def write(self, text: str) -> int:
        text = as_utf8(text)  # a file's name may hold bytes that are no text
        if self._is_json:
            self._stream.write(_INSIDE.sub(r"\\u0023", text))
        else:
            for line in text.splitlines(keepends=True):
                self._write_line(line)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _write_line(self, line: str) -> None:
        if self._is_at_start:
            line = _BEGINS.sub(rf"\1{_SPACE}:", line)
        self._stream.write(_INSIDE.sub(f"#{_SPACE}", line))
        is_ended = line != line.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
        self._is_at_start = is_ended or (self._is_at_start and line.isspace())


@contextmanager
def no_commands(*, is_json: bool) -> Iterator[None]:
    """Write no command to stdout and stderr meanwhile, except by `print_command`."""
    before = sys.stdout, sys.stderr
    # A process without output has no stream, and Python prints nothing then.
    if sys.stdout is not None:
        sys.stdout = _Harmless(sys.stdout, is_json=is_json)
    if sys.stderr is not None:
        sys.stderr = _Harmless(sys.stderr, is_json=False)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def print_command(line: str) -> None:
    """Print a command of this program's own."""
    print(line, file=getattr(sys.stdout, "unguarded", sys.stdout))
