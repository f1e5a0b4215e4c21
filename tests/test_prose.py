"""Docs, docstrings, comments and messages avoid the phrases of `prose.txt`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
READ = ("app", "profiles", "strategy_core", "strategy_lab", "docs", "README.md")
NOT_YET = ("strategy_core/contexts/notebook.py",)
"""Folders and files whose text is still to be rewritten. The list only gets shorter."""
_JOINTS = re.compile(r'"\s*[rf]*"|\s*\n\s*(#|//)?\s*')


def phrases() -> dict[re.Pattern[str], str]:
    lines = (Path(__file__).parent / "prose.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(" -> ") for line in lines if not line.startswith("#"))
    return {re.compile(phrase): instead for phrase, instead in pairs}


def text_of(file: Path) -> str:
    """What a reader reads of a file: of Python its strings and comments, in order."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        kinds = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", -1)}
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        text = "\n".join(token.string for token in tokens if token.type in kinds)
    return " ".join(_JOINTS.sub(" ", text).split())


def found_in(file: Path) -> Iterator[str]:
    text = text_of(file)
    for phrase, instead in phrases().items():
        for match in phrase.finditer(text):
            around = text[max(0, match.start() - 40) : match.end() + 40]
            yield f"{file}: '{match[0]}' in '...{around}...'. Write: {instead}"


def files(place: str) -> list[Path]:
    path = ROOT / place
    every = [path] if path.is_file() else sorted(path.rglob("*"))
    return [file for file in every if file.suffix in (".py", ".js", ".md")]


def is_not_yet(file: Path) -> bool:
    return any(file.is_relative_to(ROOT / place) for place in NOT_YET)


def test_text_avoids_the_phrases_of_the_list() -> None:
    read = [file for place in READ for file in files(place) if not is_not_yet(file)]
    found = [line for file in read for line in found_in(file)]
    assert not found, "\n".join(found)


def test_what_is_rewritten_leaves_the_list_of_exceptions() -> None:
    clean = [place for place in NOT_YET if not any(any(found_in(file)) for file in files(place))]
    assert not clean, f"remove from NOT_YET: {clean}"


def test_a_phrase_is_found_across_lines_and_pieces(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text('"""What it is\n    told."""\nx = f"where " f"there is"\nis_none = x is None\n')
    assert [line.split("'")[1] for line in found_in(file)] == ["where there is", "is told"]
