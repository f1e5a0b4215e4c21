"""Docs, docstrings, comments and messages avoid the phrases of `prose.txt`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("app", "profiles", "strategy_core", "plugins", "tests", "benchmarks", "docs")
READ = (*FOLDERS, "README.md", "CHANGELOG.md", "CONTRIBUTING.md")
EXCEPTIONS = {"tests/attacks/attempts.py": '"nobody"'}
"""By file a text that is not prose: here the name of a Unix user."""
OWN_EXAMPLES = Path(__file__)
_JOINTS = re.compile(r'"\s*[rf]*"|\s*\n\s*(#|//)?\s*')


@cache
def phrases() -> dict[re.Pattern[str], str]:
    lines = (Path(__file__).parent / "prose.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(" -> ") for line in lines if not line.startswith("#"))
    return {re.compile(phrase): instead for phrase, instead in pairs}


def text_of(file: Path) -> str:
    """The text of a file; of Python its strings, comments and names of tests, in order."""
    text = file.read_text(encoding="utf-8")
    if file.is_relative_to(ROOT) and (quoted := EXCEPTIONS.get(str(file.relative_to(ROOT)))):
        text = text.replace(quoted, '""')
    if file.suffix == ".py":
        kinds = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", -1)}
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        read = (token for token in tokens if token.type in kinds or _names_a_test(token))
        text = "\n".join(_as_words(token) for token in read)
    return " ".join(_JOINTS.sub(" ", text).split())


def _names_a_test(token: tokenize.TokenInfo) -> bool:
    return token.type == tokenize.NAME and token.string.startswith("test_")


def _as_words(token: tokenize.TokenInfo) -> str:
    return token.string.replace("_", " ") if _names_a_test(token) else token.string


def found_in(file: Path) -> Iterator[str]:
    text = text_of(file)
    for phrase, instead in phrases().items():
        for match in phrase.finditer(text):
            around = text[max(0, match.start() - 40) : match.end() + 40]
            yield f"{file}: '{match[0]}' in '...{around}...'. Write: {instead}"


def files(pattern: str) -> list[Path]:
    path = ROOT / pattern
    every = [path] if path.is_file() else sorted(path.rglob("*"))
    return [file for file in every if file.suffix in (".py", ".js", ".md")]


def test_text_avoids_the_phrases_of_the_list() -> None:
    read = [file for root in READ for file in files(root) if file != OWN_EXAMPLES]
    hits = [line for file in read for line in found_in(file)]
    assert not hits, "\n".join(hits)


def test_every_exception_is_still_needed() -> None:
    unneeded = [name for name, text in EXCEPTIONS.items() if text not in (ROOT / name).read_text()]
    assert not unneeded, f"remove from EXCEPTIONS: {unneeded}"


def test_a_phrase_is_found_across_lines_and_pieces(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text('"""What it is\n    told."""\nx = f"where " f"there is"\nis_none = x is None\n')
    assert [line.split("'")[1] for line in found_in(file)] == ["where there is", "is told"]


def test_the_name_of_a_test_is_read_as_words(tmp_path: Path) -> None:
    file = tmp_path / "test_module.py"
    file.write_text("def test_a_loss_is_told() -> None: ...\n")
    assert [line.split("'")[1] for line in found_in(file)] == ["is told"]
