"""How the source of a program differs between two runs that have recorded it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

LONGEST = 200
"""Characters of a line that are kept."""


def files_of_both(a: Mapping[str, str], b: Mapping[str, str]) -> list[str]:
    """Return the files whose text both runs have recorded."""
    return [file for file in b if file in a]


def difference(a: Mapping[str, str], b: Mapping[str, str]) -> list[str]:
    """Return the changed lines of these files as a unified diff."""
    return [line for file in files_of_both(a, b) for line in _of_file(file, a[file], b[file])]


def _of_file(file: str, a: str, b: str) -> Iterator[str]:
    name = file.rpartition("/")[2]
    for line in difflib.unified_diff(a.splitlines(), b.splitlines(), name, name, n=1, lineterm=""):
        yield line[:LONGEST]
