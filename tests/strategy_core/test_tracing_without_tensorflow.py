"""`strategy-lab trace` of programs without TensorFlow: they run as they do alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import strategy_profiles
from strategy_core.processes.import_path import with_own_code
from strategy_core.tracing.children import report_without_steps, without_steps
from strategy_core.tracing.settings import Settings
from strategy_core.tracing.watcher import record_end
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import Finished, FinishedStatus
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.run.manifest import create_run_file
from tests.event_records import read_records

pytestmark = pytest.mark.slow

PROGRAM = """
import sys, app, profiles
print(__name__, __file__, sys.argv, sys.path[0], app.OWNER, profiles.OWNER, sys.stdin.read())
assert "sitecustomize" not in sys.path[0]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with modules under names that the lab's checkout has as well."""
    (tmp_path / "app.py").write_text('OWNER = "user"\n')
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "__init__.py").write_text('OWNER = "user"\n')
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "train.py").write_text(PROGRAM)
    return tmp_path


def python(
    project: Path, *arguments: str, worker: int | None = None, num_workers: int = 2
) -> subprocess.CompletedProcess[str]:
    """Run Python; as a worker of a cluster if it has a number."""
    environment = {**with_own_code(os.environ), "STRATEGY_LAB_TRACE_STRICT": "1"}
    if worker is not None:
        environment["TF_CONFIG"] = tf_config(worker, num_workers)
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env=environment,
        input="typed",
        capture_output=True,
        text=True,
        check=False,
    )


def tf_config(worker: int, num_workers: int = 2) -> str:
    addresses = [f"localhost:{2222 + number}" for number in range(num_workers)]
    task = {"type": "worker", "index": worker}
    return json.dumps({"cluster": {"worker": addresses}, "task": task})


def trace(
    project: Path, *arguments: str, worker: int | None = None, num_workers: int = 2
) -> subprocess.CompletedProcess[str]:
    command = ("-P", "-m", "strategy_core", "trace", "-o", "run", *arguments)
    return python(project, *command, worker=worker, num_workers=num_workers)


@pytest.mark.parametrize(
    "program",
    [
        ("program.py", "--set", "x", "-o", "y", "--", "z"),
        ("-m", "pkg.train", "-m", "--live"),
        ("-c", PROGRAM.replace("__file__", "1"), "-c", "a"),
    ],
    ids=["script", "module", "code"],
)
def test_a_program_is_the_main_program_with_its_arguments(
    project: Path, program: tuple[str, ...]
) -> None:
    plain, traced = python(project, *program), trace(project, *program)
    assert plain.returncode == 0, plain.stderr
    assert (traced.returncode, traced.stdout) == (0, plain.stdout), traced.stderr
    assert strategy_profiles.load(project / "run").summary()["status"] == "finished"
    notes = read_records(project / "run" / "worker-0-0" / "events.jsonl")
    assert "The program did not import TensorFlow." in [note.get("message") for note in notes]


@pytest.mark.parametrize(
    ("code", "status", "message"),
    [
        ("import sys; sys.exit(3)", "failed", "The program ended with exit code 3."),
        ("import os; os.kill(os.getpid(), 9)", "failed", "The program was ended by SIGKILL."),
        ("raise ValueError('theirs')", "failed", "ValueError: theirs"),
        ("raise KeyboardInterrupt", "stopped", None),
    ],
)
def test_the_end_of_a_program_is_its_own(
    project: Path, code: str, status: str, message: str | None
) -> None:
    plain, traced = python(project, "-c", code), trace(project, "-c", code)
    assert traced.returncode == plain.returncode
    first, _, rest = traced.stderr.partition("\n")
    own, _, last = rest.rpartition("strategy-lab: ")
    assert first == "strategy-lab: recording into run"
    assert own == plain.stderr
    assert last == (
        "recorded into run. What limits the program: strategy-lab summary run, or "
        "strategy-lab ui --runs .\n"
    )
    summary = strategy_profiles.load(project / "run").summary()
    assert (summary["status"], summary["status_message"]) == (status, message)


@pytest.mark.parametrize("closed", [1, 2], ids=["output", "error"])
def test_a_program_whose_output_is_closed_runs_as_alone(project: Path, closed: int) -> None:
    """Nothing of the lab's goes into the other output instead."""
    code = (
        "import sys; closed = (sys.stdout is None, sys.stderr is None)\n"
        "open(sys.argv[1], 'w').write(repr(closed)); print('theirs'); sys.exit(4)"
    )
    plain, traced = (
        subprocess.run(
            ["/bin/sh", "-c", f'exec "$@" {closed}>&-', "sh", sys.executable, *command, code, name],
            cwd=project,
            env=with_own_code(os.environ),
            capture_output=True,
            text=True,
            check=False,
        )
        for name, command in (
            ("alone", ["-c"]),
            ("traced", ["-P", "-m", "strategy_core", "trace", "-o", "run", "-c"]),
        )
    )
    assert (traced.returncode, traced.stdout) == (plain.returncode, plain.stdout)
    assert traced.returncode == 4, traced.stderr
    assert (project / "traced").read_text() == (project / "alone").read_text()
    assert (
        strategy_profiles.load(project / "run").status.message
        == "The program ended with exit code 4."
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_to_the_command_reach_the_program(project: Path, number: signal.Signals) -> None:
    code = "import signal; signal.signal(15, lambda *_: exit(5)); print(1, flush=True); input()"
    command = [sys.executable, "-P", "-m", "strategy_core", "trace", "-o", "run", "-c", code]
    with subprocess.Popen(
        command, cwd=project, env=with_own_code(os.environ), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        assert running.stdout.readline() == b"1\n"
        running.send_signal(number)
        assert running.wait() == (5 if number == signal.SIGTERM else -signal.SIGINT)
    status = "failed" if number == signal.SIGTERM else "stopped"
    assert strategy_profiles.load(project / "run").summary()["status"] == status


def recorded(folder: Path, status: FinishedStatus | None = None) -> Path:
    """The run folder of a program that has recorded its end, or nothing."""
    run = folder / "run"
    create_run_file(run, recorded_by="record")
    if status is not None:
        log = EventLog(worker_folder(run, 0).events)
        log.write(Finished(status, 0))
        log.close()
    return run


@pytest.mark.parametrize(
    ("finished", "code", "status", "message"),
    [
        ("finished", 0, "finished", None),
        ("finished", 1, "failed", "The program ended with exit code 1."),
        ("finished", -6, "failed", "The program was ended by SIGABRT."),
        ("stopped", -2, "stopped", None),
        ("stopped", 130, "stopped", None),
        (None, -2, "stopped", None),
        (None, -35, "failed", "The program was ended by signal 35."),
    ],
)
def test_the_exit_code_counts_unless_the_program_reported_its_end(
    tmp_path: Path, finished: FinishedStatus | None, code: int, status: str, message: str | None
) -> None:
    run = recorded(tmp_path, finished)
    record_end(run, 1, code)
    record_end(run, 1, code)
    run_status = strategy_profiles.load(run).status
    assert (run_status.state, run_status.message) == (status, message)


def test_a_line_that_the_program_was_writing_when_it_was_killed_is_cut(tmp_path: Path) -> None:
    run = recorded(tmp_path, "finished")
    path = worker_folder(run, 0).events
    with path.open("ab") as file:
        file.write(b'{"kind": "no')
    record_end(run, 1, -signal.SIGABRT)
    assert [event["kind"] for event in read_records(path)] == ["finished", "failed"]


def test_a_child_that_ends_before_its_first_step_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(str(recorded(tmp_path)), os.getpid(), {})
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    report_without_steps(settings, None)  # without TensorFlow it cannot train
    assert without_steps(settings) == []
    monkeypatch.setitem(sys.modules, "tensorflow", sys)
    monkeypatch.setattr(sys, "argv", ["/work/worker.py"])
    report_without_steps(settings, ValueError("no batch"))
    (sentence,) = without_steps(settings)
    assert sentence == (
        f"Process {os.getpid()} (worker.py), which it started, ended before its first step, with "
        "ValueError: no batch."
    )


def test_a_missing_program_and_a_run_that_exists_are_refused(project: Path) -> None:
    missing = trace(project, "nowhere.py")
    assert missing.returncode == 2
    assert "nowhere.py" in missing.stderr
    assert not (project / "run").exists()
    trace(project, "-c", "")
    again = trace(project, "-c", "")
    assert again.returncode == 2
    assert "another run" in again.stderr


def test_the_default_name_is_that_of_the_program(project: Path) -> None:
    done = python(project, "-P", "-m", "strategy_core", "trace", "-m", "pkg.train")
    assert "recording into runs/pkg-train-1" in done.stderr
    assert (project / "runs" / "pkg-train-1" / "run.json").exists()


def test_workers_with_one_cluster_are_one_run_which_names_the_worker_that_failed(
    project: Path,
) -> None:
    failed = trace(project, "-c", "raise ValueError('theirs')", worker=1)
    assert failed.stderr.startswith("strategy-lab: recording into run\n")
    assert "ValueError: theirs" in failed.stderr
    assert trace(project, "-c", "raise KeyboardInterrupt", worker=0).returncode == -signal.SIGINT
    assert sorted(each.name for each in (project / "run").glob("worker-*")) == [
        "worker-0-0",
        "worker-1-0",
    ]
    status = strategy_profiles.load(project / "run").status
    assert (status.state, status.message) == ("failed", "Worker 1: ValueError: theirs")


def test_the_first_error_is_that_of_the_run_if_each_worker_has_one(project: Path) -> None:
    assert trace(project, "-c", "import os; os.kill(os.getpid(), 9)", worker=1).returncode == -9
    assert trace(project, "-c", "raise ValueError('later')", worker=0).returncode == 1
    status = strategy_profiles.load(project / "run").status
    assert status.message == "Worker 1: The program was ended by SIGKILL."


@pytest.mark.parametrize(
    "stranger",
    [{"worker": None}, {"worker": 1}, {"worker": 0, "num_workers": 3}],
    ids=["without a cluster", "the same worker again", "of another cluster"],
)
def test_a_run_folder_of_workers_is_refused_to_others(
    project: Path, stranger: dict[str, int]
) -> None:
    assert trace(project, "-c", "", worker=1).returncode == 0
    refused = trace(project, "-c", "print('ran')", **stranger)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "Name another folder" in refused.stderr


LAUNCHER = """
import json, os, subprocess, sys
for index in (1, 0):
    task = {"cluster": {"worker": ["localhost:2222", "localhost:2223"]},
            "task": {"type": "worker", "index": index}}
    environment = {**os.environ, "TF_CONFIG": json.dumps(task)}
    code = "raise ValueError('no data')" if index else "import subprocess, sys; " + HELPER
    subprocess.run([sys.executable, "-c", code], env=environment, check=bool(sys.argv[1:]))
"""


@pytest.mark.parametrize(("arguments", "code"), [((), 0), (("checked",), 1)])
def test_a_worker_that_the_program_starts_records_its_early_error(
    project: Path, arguments: tuple[str, ...], code: int
) -> None:
    """Its own helpers, which inherit its TF_CONFIG, are no workers."""
    helper = "HELPER = \"subprocess.run([sys.executable, '-c', 'import nowhere'])\"\n"
    traced = trace(project, "-c", helper + LAUNCHER, *arguments)
    assert traced.returncode == code, traced.stderr
    assert [each.name for each in (project / "run").glob("worker-*")] == ["worker-1-0"]
    status = strategy_profiles.load(project / "run").status
    assert (status.state, status.message) == ("failed", "Worker 1: ValueError: no data")


FORKING = """
import json, multiprocessing, os
def train(index):
    cluster = {"worker": ["localhost:2222", "localhost:2223"]}
    task = {"type": "worker", "index": index}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})
    if index:
        raise ValueError("no data")
workers = [multiprocessing.get_context("fork").Process(target=train, args=(i,)) for i in range(2)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
"""


def test_a_worker_that_multiprocessing_starts_records_its_early_error(project: Path) -> None:
    traced = trace(project, "-c", FORKING)
    assert traced.returncode == 0, traced.stderr
    assert strategy_profiles.load(project / "run").status.message == "Worker 1: ValueError: no data"
