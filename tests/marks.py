"""Which test files `pytest -m` needs: a file without a test that it selects is not imported."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

MARKS_OF_FILE = re.compile(r"^pytestmark = (\[.*?\]|.*?)$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"\bmark\.(\w+)")


class _Marks(dict[str, bool]):
    """The names of a mark expression; a mark that is not set is false."""

    def __missing__(self, name: str) -> bool:
        return False


def may_select(expression: str, path: Path) -> bool:
    """Return whether the mark expression can select a test of the file.

    Each test has the marks of the file and may have any of the others that its text names. To look
    for the names in the expression is not enough: "not (tf or run)" excludes `tf`, too.
    """
    if not expression.strip():
        return True
    text = path.read_text("utf-8")
    of_file = MARKS_OF_FILE.search(text)
    of_all = set(MARK.findall(of_file[1])) if of_file else set()
    # Names such as `parametrize` are in no expression, and would only make combinations.
    others = {name for name in MARK.findall(text) if name in expression} - of_all
    code = compile(expression, "the mark expression", "eval")
    return any(
        eval(code, {"__builtins__": {}}, _Marks.fromkeys((*of_all, *some), True))
        for count in range(len(others) + 1)
        for some in combinations(others, count)
    )
