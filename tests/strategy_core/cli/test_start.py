"""A command imports what it needs: `--help` nothing large, help of a verb what is listed here."""

from __future__ import annotations

import subprocess
import sys

import pytest

from strategy_core.cli.main import verb_modules
from tests.timeouts import MAX_WAIT_S

LARGE = "duckdb jinja2 keras numpy pandas plotly pyarrow pydantic rich streamlit tensorflow yaml"
IMPORTED = {
    "attach": "numpy pydantic yaml",
    "baseline": "numpy pyarrow yaml",
    "change": "numpy pyarrow pydantic yaml",
    "collect": "numpy pyarrow rich yaml",
    "compare": "numpy pyarrow yaml",
    "contexts": "jinja2 pydantic yaml",
    "devices": "pydantic rich yaml",
    "doctor": "pydantic rich yaml",
    "export": "duckdb jinja2 numpy pyarrow",  # the names of the formats are options
    "gate": "numpy pyarrow yaml",
    "import": "numpy pyarrow rich",
    "mcp": "",
    "predict": "rich",
    "recover": "numpy pyarrow",
    "run": "numpy pyarrow pydantic rich yaml",
    "sql": "numpy pyarrow rich",
    "summary": "",
    "sweep": "numpy pyarrow pydantic rich yaml",
    "trace": "numpy pyarrow pydantic yaml",
    "ui": "",
    "what-if": "rich",
    "worker": "numpy pyarrow pydantic rich yaml",
}
"""The large packages that each verb imports before it runs: a list to make shorter."""


def imported(*argv: str) -> str:
    """The large packages that a process has imported at the end of this command."""
    code = (
        "import sys, contextlib\n"
        "from strategy_core.cli.main import main\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(None):\n"
        f"    main({list(argv)!r})\n"
        f"print(*[name for name in {LARGE.split()!r} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=MAX_WAIT_S,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["no-such-verb"]])
def test_the_list_of_verbs_imports_no_verb(argv: list[str]) -> None:
    assert imported(*argv) == ""


def test_every_verb_is_listed() -> None:
    assert verb_modules().keys() == IMPORTED.keys()


@pytest.mark.slow
@pytest.mark.parametrize("verb", IMPORTED)
def test_the_help_of_a_verb_imports_no_more_than_is_listed(verb: str) -> None:
    assert set(imported(verb, "--help").split()) <= set(IMPORTED[verb].split())
