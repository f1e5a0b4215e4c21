"""The command line finds its verbs by file, and says what was wrong in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import strategy_core.cli
from strategy_core.cli.main import main, own_verbs
from tests.processes import children_of, is_living
from tests.synthetic import write_run
from tests.timeouts import MAX_WAIT_S, wait_until


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("cli") / "mine", steps=60)


def test_a_verb_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "say_hello.py").write_text(
        "HELP = 'greets'\n"
        "def add_arguments(parser): parser.add_argument('name')\n"
        "def run(args): print('hello', args.name); return 1\n"
    )
    (tmp_path / "import_.py").write_text("")
    (tmp_path / "_private.py").write_text("")
    monkeypatch.setattr(strategy_core.cli, "__path__", [str(tmp_path)])
    assert {name: verb.value for name, verb in own_verbs().items()} == {
        "say-hello": "strategy_core.cli.say_hello",
        "import": "strategy_core.cli.import_",
    }
    monkeypatch.delitem(sys.modules, "strategy_core.cli.say_hello", raising=False)
    assert main(["say-hello", "you"]) == 1


def test_help_lists_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    for verb in ("summary", "compare", "export", "sql"):
        assert f"\n    {verb}" in text


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["frobnicate"], "invalid choice: 'frobnicate'"),
        (["summary"], "the following arguments are required: RUN"),
        (["summary", "nowhere"], "No run folder at nowhere. Name the folder that"),
        (["change", "nowhere", "--stop"], "No run folder at nowhere."),
        (["change", "RUN", "--stop"], "is not running (finished), so it cannot be changed"),
        (["summary", "RUN", "--jsn"], "arguments: --jsn. See strategy-lab summary --help."),
        (["trace", "--bogus", "train.py"], "--bogus. See strategy-lab trace --help."),
        (["--prot", "1"], "--prot 1. See strategy-lab ui --help."),
        (["sql", "RUN", "select * from nope"], "Table with name nope does not exist"),
        (["sql", "RUN", "drop table steps"], "Write one SELECT"),
        (["compare", "RUN", "RUN", "--fail-on", "loss"], "is not a limit. Write METRIC:+N%"),
        (["compare", "RUN", "RUN", "--segment-a", "7"], "has no segment 7"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_code_2(
    argv: list[str], message: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(run) if part == "RUN" else part for part in argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("strategy-lab: ")
    assert err.count("\n") == 1
    assert message in err


def test_ctrl_c_is_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_path: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("strategy_profiles.load", interrupted, raising=False)
    assert main(["summary", "somewhere"]) == 130


@pytest.mark.run
def test_ctrl_c_ends_a_query_and_its_process(run: Path) -> None:
    query = "select count(*) from range(100000000) a, range(100000) b"
    command = subprocess.Popen([sys.executable, "-m", "strategy_core", "sql", run, query])
    try:
        children: list[psutil.Process] = []

        def is_asking() -> bool:
            children[:] = children_of(command.pid)
            return any(child.cpu_times().user > 2.0 for child in children)

        wait_until(is_asking)
        command.send_signal(signal.SIGINT)
        assert command.wait(MAX_WAIT_S) == 130
        wait_until(lambda: not any(is_living(child.pid) for child in children))
    finally:
        command.kill()


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_error(run: Path) -> None:
    command = f"{sys.executable} -m strategy_core sql {run} 'select * from marks' --json | head -1"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, check=False, timeout=MAX_WAIT_S
    )
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.slow
def test_reading_verbs_start_without_tensorflow_and_streamlit(run: Path) -> None:
    code = (
        "import sys\n"
        "from strategy_core.cli.main import main\n"
        f"assert main(['summary', {str(run)!r}, '--json']) == 0\n"
        "heavy = {'tensorflow', 'keras', 'streamlit', 'duckdb'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=MAX_WAIT_S,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_name_that_no_file_can_have_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["trace", "a" * 300]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "aaaa...aaaa" in line


def test_a_pipe_is_no_program_to_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert main(["trace", str(tmp_path / "pipe.py")]) == 2
    assert "is no file, but a pipe or a device" in capsys.readouterr().err
