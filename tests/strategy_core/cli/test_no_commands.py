"""No text of a run is a command for the CI service that reads the command line's output."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from strategy_core.cli._commands import no_commands, print_command
from strategy_core.cli.main import main
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import Note
from strategy_profiles.run.layout import worker_folder
from tests.synthetic import write_run

HOSTILE = ("::error::owned", "  ::add-mask::x", "a\n::error::b\r::error::c", "x ##[command]y")
COMMAND = re.compile(r"^\s*::|##\[|##vso\[", re.MULTILINE)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run = write_run(tmp_path / "##[x]", steps=10, windows=0)
    log = EventLog(worker_folder(run, 0).events)
    for text in HOSTILE:
        log.write(Note("warning", text))
    log.close()
    return run


def parts(text: str) -> list[str]:
    """As the service splits it, `\\r` included."""
    return re.split(r"[\r\n]", text)


def test_no_output_of_a_verb_has_a_command(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ", ".join("('" + text.replace("'", "''") + "')" for text in HOSTILE)
    query = f"select * from (values {texts}) as t(said)"
    for command in (
        ["summary", str(run)],
        ["sql", str(run), query],
        ["sql", str(run), query, "--csv"],
        ["sql", str(run), query, "--json"],
        ["compare", str(run), "--against", str(run)],
        ["export", str(run), "::error::x", "-o", str(run / "##[y]")],
        ["::error::verb"],
    ):
        main(command)
        output = capsys.readouterr()
        for text in parts(output.out) + parts(output.err):
            assert not COMMAND.search(text), (command, text)


def test_what_is_in_json_is_what_was_recorded(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", str(run), "select 'x ##[a]' as said", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"said": "x ##[a]"}


def test_a_line_may_be_written_in_pieces(capsys: pytest.CaptureFixture[str]) -> None:
    with no_commands(is_json=False):
        for piece in (" ", ":", ":error::x", "\n", "a :: b\n"):
            sys.stdout.write(piece)
        print_command("::error::of this program")
    first, second, third = capsys.readouterr().out.splitlines()
    assert not COMMAND.match(first)
    assert second == "a :: b"
    assert third == "::error::of this program"
