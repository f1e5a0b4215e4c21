"""Runs, files and programs of another user: every verb says in a sentence what it may not read."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

import pytest

from strategy_core.cli.main import main, verb_parsers
from tests.plugins.leaves import files_of_leaves, from_doors
from tests.synthetic import write_run

pytestmark = pytest.mark.slow

NOBODY = 65534
CLOSED = {
    "the folder": ".",
    "its run.json": "run.json",
    "its launcher's events": "launcher.jsonl",
    "its worker": "worker-0-0",
    "its worker's events": "worker-0-0/events.jsonl",
    "a window": "worker-0-0/window-000000",
    "a table": "worker-0-0/window-000000/spans.parquet",
}
READING = (
    ["summary", "RUN"],
    ["export", "RUN", "--format", "json", "-o", "OWN/out.json"],
    ["compare", "RUN", "RUN"],
    ["recover", "RUN"],
    ["change", "RUN", "steps=3"],
    ["import", "RUN", "-o", "OWN/imported"],
    *(argv for commands in from_doors("OF_A_RUN") for argv in commands),
)
WRITING = (
    ["export", "OPEN", "--format", "json", "-o", "RUNS/out.json"],
    ["run", "-o", "RUNS/new"],
    ["trace", "-o", "RUNS/traced", "PROGRAM"],
    *(argv for commands in from_doors("WRITING") for argv in commands),
)


def as_another_user(argv: Sequence[str], folder: Path) -> tuple[int, str]:
    """The exit code of a command line that another user types, and what it prints."""
    verb_parsers()  # its modules may be where the other user may not read
    with tempfile.TemporaryFile() as told:
        child = os.fork()
        if child == 0:
            code, said = 99, ""
            try:
                os.chdir(folder)
                if os.getuid() == 0:
                    os.setgroups([])
                    os.setgid(NOBODY)
                    os.setuid(NOBODY)
                out, err = io.StringIO(), io.StringIO()
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                    code = main(argv)
                said = err.getvalue()
            except BaseException:
                said = traceback.format_exc()
            told.write(said.encode())
            told.flush()
            os._exit(code)
        _, status = os.waitpid(child, 0)
        told.seek(0)
        return os.waitstatus_to_exitcode(status), told.read().decode()


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """`OWN` may be written by all, the others belong to this user."""
    os.umask(0o022)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == tmp_path.owner() and folder.name.startswith(("pytest", "test")):
            folder.chmod(0o755)
    own = tmp_path / "own"
    own.mkdir()
    own.chmod(0o777)
    runs = tmp_path / "runs"
    found = {"OWN": own, "RUNS": runs, "RUN": runs / "one", "OPEN": tmp_path / "open"}
    for name in ("RUN", "OPEN"):
        write_run(found[name], steps=20, windows=1)
    found |= {"PROGRAM": tmp_path / "program.py", "TRACE": tmp_path / "trace.json"}
    found["PROGRAM"].write_text("print()\n")
    found["TRACE"].write_text(
        '{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]}'
    )
    return found | files_of_leaves(tmp_path, found["OPEN"])


def line_of(argv: Sequence[str], places: dict[str, Path]) -> list[str]:
    found = []
    for word in argv:
        place = next((name for name in places if word.partition("/")[0] == name), None)
        found.append(word.replace(place, str(places[place])) if place else word)
    return found


@pytest.mark.parametrize("closed", CLOSED.values(), ids=CLOSED)
def test_what_may_not_be_read_is_named(closed: str, places: dict[str, Path]) -> None:
    (places["RUN"] / closed).chmod(0)
    try:
        for argv in READING:
            code, said = as_another_user(line_of(argv, places), places["OWN"])
            outcome = (argv, code, said)
            assert code in (0, 1, 2), outcome
            assert "Traceback" not in said, outcome
            if code == 2:
                assert said.splitlines()[-1].startswith("strategy-lab: "), outcome
    finally:
        (places["RUN"] / closed).chmod(0o755)


@pytest.mark.parametrize("argv", WRITING, ids=" ".join)
def test_where_it_may_not_be_written_is_named(argv: list[str], places: dict[str, Path]) -> None:
    places["RUNS"].chmod(0o555)
    code, said = as_another_user(line_of(argv, places), places["OWN"])
    assert (code, "Traceback" in said) == (2, False), said
    assert said.splitlines()[-1].startswith("strategy-lab: "), said
    assert "Permission denied" in said or "cannot be written" in said, said
