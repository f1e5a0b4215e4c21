"""`docs/glossary.md` from the words and the definitions.

python -m tests.reference.glossary > docs/glossary.md
"""

from __future__ import annotations

import sys

from strategy_profiles.reporting.definitions import DEFINITIONS
from strategy_profiles.reporting.glossary import TERMS

_HEAD = """# Glossary

<!-- Made by `python -m tests.reference.glossary`; a test compares. -->

The page shows these texts where the pointer rests on a word or a number.

## Words

| word | |
| --- | --- |
"""
_FIGURES = """
## Figures

| figure | unit | | formula | source |
| --- | --- | --- | --- | --- |
"""


def page() -> str:
    """The glossary as Markdown."""
    words = [f"| **{word}** | {meaning} |\n" for word, meaning in TERMS.items()]
    figures = [
        f"| **{item.label}** | {item.unit} | {_cell(item.meaning)} | {_formula(item.formula)} | "
        f"{item.source} |\n"
        for item in DEFINITIONS.values()
    ]
    return "".join([_HEAD, *words, _FIGURES, *figures])


def _formula(text: str) -> str:
    return f"`{_cell(text)}`" if text else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(page())
