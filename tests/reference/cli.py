"""`docs/cli.md` from the parsers of the verbs.

python -m tests.reference.cli > docs/cli.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from strategy_core.cli.main import PROGRAM, verb_parsers

_HEAD = f"""# Command line

<!-- Made by `python -m tests.reference.cli`; a test compares. -->

`{PROGRAM}` (or `python -m strategy_core`) without a verb is `{PROGRAM} ui`. `{PROGRAM} --version`
prints the version, `{PROGRAM} VERB --help` what is below.

| exit code | |
| --- | --- |
| 0 | done |
| 1 | the check failed, or the run failed |
| 2 | the request was wrong: one line on stderr |
| 130 | Ctrl-C |

`run` ends with 0 after Ctrl-C: it stops the run after the step it is in, and keeps its records.
"""


def options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """Each argument as it is written, with its help."""
    formatter = argparse.HelpFormatter(parser.prog)
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        help_ = formatter._expand_help(action) if action.help else ""
        value = formatter._format_args(action, (action.dest or "").upper())
        written = ", ".join(f"{flag} {value}".strip() for flag in action.option_strings) or value
        yield written, " ".join(help_.split())


def reference() -> str:
    """The page."""
    return "\n".join([_HEAD, *(_section(*item) for item in verb_parsers().items())])


def _section(name: str, parser: argparse.ArgumentParser) -> str:
    rows = [f"| `{_cell(written)}` | {_cell(text)} |" for written, text in options(parser)]
    said = [_sentence(parser.description or ""), *([parser.epilog] if parser.epilog else [])]
    table = ["| | |", "| --- | --- |", *rows]
    return "\n".join([f"## `{PROGRAM} {name}`", "", "\n\n".join(said), "", *table, ""])


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('?') else '.'}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(reference())
