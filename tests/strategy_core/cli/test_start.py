"""A command imports what it needs: `--help` nothing large, help of a verb what is listed here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from strategy_core.cli.main import verbs
from tests.plugins.leaves import files_of_leaves, from_doors
from tests.synthetic import write_run
from tests.timeouts import MAX_WAIT_S

LARGE = (
    "dateutil duckdb jinja2 keras numpy pandas plotly pyarrow pyarrow.dataset pydantic "
    "rich rich._emoji_codes streamlit tensorflow yaml strategy_profiles.analysis.advice.registry"
)
IMPORTED = {
    "change": "numpy pyarrow pydantic yaml",
    "compare": "numpy pyarrow",
    "devices": "pydantic rich yaml",
    # the names of the formats are options
    "export": "jinja2 numpy pyarrow strategy_profiles.analysis.advice.registry",
    "import": "",
    "recover": "",
    "run": "numpy pyarrow pydantic rich yaml",
    "sql": "numpy pyarrow",
    "summary": "",
    "trace": "",
    "ui": "",
    "worker": "numpy pyarrow pydantic rich yaml",
}
"""The large packages that each verb imports before it runs: a list to make shorter."""


RUNNING = {
    "summary a": "numpy pyarrow rich strategy_profiles.analysis.advice.registry",
    "summary a --json": "numpy pyarrow strategy_profiles.analysis.advice.registry",
    "compare a b": "numpy pyarrow rich",
}
"""Those that a command has imported when it has run."""
for imported_by_verbs in from_doors("IMPORTED"):
    IMPORTED |= imported_by_verbs
for imported_by_commands in from_doors("RUNNING"):
    RUNNING |= imported_by_commands


def imported(*argv: str, folder: Path | None = None) -> str:
    """The large packages that a process has imported at the end of this command."""
    code = (
        "import sys, contextlib\n"
        "from strategy_core.cli.main import entry_point\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(None):\n"
        f"    sys.argv[1:] = {list(argv)!r}\n"
        "    entry_point()\n"
        f"print(*[name for name in {LARGE.split()!r} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        check=True,
        timeout=MAX_WAIT_S,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["no-such-verb"]])
def test_the_list_of_verbs_imports_no_verb(argv: list[str]) -> None:
    assert imported(*argv) == ""


def test_the_list_of_verbs_finds_those_of_packages_without_importlib_metadata() -> None:
    """Its import takes half of the time that the list of verbs has."""
    code = (
        "import sys\n"
        "from strategy_core.cli.main import verbs\n"
        "verbs()\n"
        "print('importlib.metadata' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_every_verb_is_listed() -> None:
    assert verbs().keys() == IMPORTED.keys()


@pytest.mark.slow
@pytest.mark.parametrize("verb", IMPORTED)
def test_the_help_of_a_verb_imports_what_is_listed(verb: str) -> None:
    assert set(imported(verb, "--help").split()) == set(IMPORTED[verb].split())


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write_run(folder / "a", steps=60)
    write_run(folder / "b", steps=60, seed=5)
    files_of_leaves(folder, folder / "a")
    return folder


@pytest.mark.parametrize("command", RUNNING)
def test_a_command_that_reads_a_run_imports_no_more_than_is_listed(
    command: str, runs: Path
) -> None:
    """Of which pandas is the largest: PyArrow imports it by itself where it is installed."""
    assert set(imported(*command.split(), folder=runs).split()) == set(RUNNING[command].split())
