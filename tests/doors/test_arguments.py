"""Every argument of every verb: a stranger's value is refused in one sentence, and in time."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NoReturn

import pytest

from strategy_core.cli.main import main, verb_parsers
from strategy_core.planning.inventory import Inventory, PhysicalDevice
from strategy_profiles.errors import LabError
from strategy_profiles.user_input.arguments import number, whole
from tests.doors.guards import ADDRESS, NAME, PROGRAM, SPEC, TEXT, TO_READ, TO_WRITE
from tests.doors.hostile import TEXTS, check_sentence, make_files, no_hang
from tests.plugins.leaves import files_of_leaves, from_doors
from tests.synthetic import write_run

pytestmark = pytest.mark.slow

STARTS = "a process would start"

GUARDS: dict[str, dict[str, tuple[str, str]]] = {
    "change": {"folder": (TO_READ, ""), "changes": (TEXT, "")},
    "compare": {"runs": (TO_READ, ""), "--against": (TO_READ, ""), "--fail-on": (TEXT, "")},
    "devices": {},
    "export": {"run_folder": (TO_READ, ""), "--output": (TO_WRITE, "")},
    "import": {"path": (TO_READ, ""), "--output": (TO_WRITE, ""), "--runs": (TO_WRITE, "")},
    "recover": {"run_folder": (TO_READ, "")},
    "run": {
        **SPEC,
        "--repeat": (TEXT, ""),
        "--interleave": (TO_READ, ".yaml"),
        "--output": (TO_WRITE, ""),
    },
    "sql": {"run_folder": (TO_READ, ""), "query": (TEXT, "")},
    "summary": {"run_folder": (TO_READ, "")},
    "trace": {
        "--output": (TO_WRITE, ""),
        "--runs": (TO_WRITE, ""),
        "--set": (TEXT, ""),
        "-m": (PROGRAM, ""),
        "-c": (PROGRAM, ""),
        "program": (PROGRAM, ""),
    },
    "ui": {"--runs": (PROGRAM, ""), "--host": (ADDRESS, ""), "--allow-host": (ADDRESS, "")},
    "worker": {
        **SPEC,
        "--cluster": (TO_READ, ".json"),
        "--resume": (TO_READ, ""),
        "--output": (TO_WRITE, ""),
    },
}
for guards in from_doors("GUARDS"):
    GUARDS |= guards
"""The guard of each argument that is neither a switch nor a choice nor a number, and how the names
of its files end. Numbers have theirs by their type."""

NO_FILES = ("pipe", "link to a pipe", "socket", "loop")
MUST_BE_REFUSED: dict[str, tuple[str, ...]] = {
    TO_READ: (*NO_FILES, "device", "missing", "long name", "long path"),
    TO_WRITE: NO_FILES[:-1],
    TEXT: (),
    NAME: (),
    ADDRESS: (),
    PROGRAM: (),
}
CHECKED_LATER = {
    ("sql", "run_folder"),  # by the process that reads the run
    ("worker", "--resume"),
    ("trace", "--runs"),  # not used beside --output
}

for later in from_doors("CHECKED_LATER"):
    CHECKED_LATER |= later

NEEDED: dict[str, dict[str, str]] = {
    "change": {"folder": "RUN", "changes": "steps=3"},
    "compare": {"runs": "RUN", "against": "RUN"},
    "export": {"run_folder": "RUN", "format": "json", "output": "NEW"},
    "import": {"path": "TRACE", "runs": "NEW"},
    "recover": {"run_folder": "RUN"},
    "run": {"output": "NEW"},
    "sql": {"run_folder": "RUN", "query": "select 1"},
    "summary": {"run_folder": "RUN"},
    "trace": {"output": "NEW", "program": "PROGRAM"},
    "worker": {"output": "NEW", "cluster": "127.0.0.1:9001,127.0.0.1:9002", "index": "0"},
}
for needed in from_doors("NEEDED"):
    NEEDED |= needed
"""Values of the other arguments, by where argparse keeps them."""


def is_number(action: argparse.Action) -> bool:
    return action.type in (int, float, whole, number)


def name_of(action: argparse.Action) -> str:
    return action.option_strings[-1] if action.option_strings else action.dest


def takes_value(action: argparse.Action) -> bool:
    return action.nargs != 0 and action.choices is None and not is_number(action)


def doors() -> list[tuple[str, argparse.Action]]:
    return [
        (verb, action)
        for verb, parser in verb_parsers().items()
        for action in parser._actions
        if action.nargs != 0 and action.choices is None
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Path]]:
    """The hostile files, by their suffix."""
    folder = tmp_path_factory.mktemp("hostile")
    suffixes = {suffix for verb in GUARDS.values() for _, suffix in verb.values()}
    return {suffix: make_files(folder / f"of{suffix}", suffix) for suffix in suffixes}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("good")
    (folder / "program.py").write_text("print()\n")
    (folder / "trace.json").write_text(
        '{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]}'
    )
    run = write_run(folder / "run", steps=30, windows=1)
    return files_of_leaves(folder, run) | {
        "RUN": run,
        "NEW": folder / "new",
        "PROGRAM": folder / "program.py",
        "TRACE": folder / "trace.json",
    }


@pytest.fixture(autouse=True)
def starts_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A process that would start is an answer: the value was taken."""

    def start(*_args: Any, **_kwargs: Any) -> NoReturn:
        raise LabError(STARTS)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "execve", start)
    monkeypatch.setattr(os, "fork", start)
    monkeypatch.setattr(subprocess.Popen, "__init__", start)
    monkeypatch.setattr(subprocess.Popen, "__del__", lambda _self: None, raising=False)
    host = Inventory((PhysicalDevice("CPU", "/physical_device:CPU:0"),), "")
    for name in from_doors("PROBES"):
        monkeypatch.setattr(name, lambda: host)


def test_every_argument_has_a_guard() -> None:
    found = {
        verb: {name_of(action) for action in parser._actions if takes_value(action)}
        for verb, parser in verb_parsers().items()
    }
    assert found == {verb: set(guards) for verb, guards in GUARDS.items()}


def test_every_number_is_bounded_before_it_is_read() -> None:
    bare = [(verb, name_of(each)) for verb, each in doors() if each.type in (int, float)]
    assert not bare, "use strategy_profiles.user_input.arguments"


@pytest.mark.parametrize(
    ("verb", "action"), doors(), ids=lambda item: item if isinstance(item, str) else name_of(item)
)
def test_a_hostile_value_is_refused_in_one_sentence(
    verb: str,
    action: argparse.Action,
    made: dict[str, dict[str, Path]],
    good: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    guard, suffix = GUARDS[verb].get(name_of(action), (TEXT, ""))
    tried = {} if is_number(action) else {k: str(path) for k, path in made[suffix].items()}
    for what, value in (TEXTS | tried).items():
        case = f"{verb} {name_of(action)} {what}"
        with no_hang(case):
            code = main(command(verb, action, value, good))
        out, err = capsys.readouterr()
        shutil.rmtree(good["NEW"], ignore_errors=True)
        good["NEW"].unlink(missing_ok=True)
        if not made[suffix]["loop"].is_symlink():  # a file that is written whole replaces a link
            made[suffix]["loop"].unlink()
            made[suffix]["loop"].symlink_to(made[suffix]["loop"])
        assert "Traceback" not in out + err, case
        assert code in (0, 1, 2), case
        if code == 2 and (err or not out):  # a check prints why it cannot tell
            check_sentence(err.splitlines()[-1], case)
            assert err.splitlines()[-1].startswith("strategy-lab: "), (case, err)
        if what in MUST_BE_REFUSED[guard] and (verb, name_of(action)) not in CHECKED_LATER:
            assert (code, STARTS in err) == (2, False), (case, code, out[-500:], err)


def command(verb: str, door: argparse.Action, value: str, good: dict[str, Path]) -> list[str]:
    """A command line whose values are good, but for that of one argument."""
    options: list[str] = []
    places: list[str] = []
    for action in verb_parsers()[verb]._actions:
        known = NEEDED.get(verb, {}).get(action.dest)
        if action is not door and action.dest != door.dest and known is None:
            continue
        given = value if action.dest == door.dest else str(good.get(known or "", known))
        if not action.option_strings:
            places.append(given)
        elif action.nargs == 0:
            options.append(action.option_strings[-1])
        elif action.nargs == argparse.REMAINDER:
            if action.dest == door.dest:
                return [verb, *options, action.option_strings[-1], given]
        else:
            options += [action.option_strings[-1], given] if action.nargs is None else []
            late = [action.option_strings[-1], given] if action.nargs == "+" else []
            places += late
    return [verb, *options, *places]
