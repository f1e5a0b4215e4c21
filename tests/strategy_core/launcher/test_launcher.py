"""The launcher against a pretended worker: every ending, every refusal, every change of worker."""

from __future__ import annotations

import os
import re
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from strategy_core.launcher import worker_pool
from strategy_core.launcher.launcher import Launcher, RunHandle
from strategy_core.processes import fork_client, worker_process
from strategy_core.processes.import_path import module_command
from strategy_profiles.errors import LabError, RunFolderError, SpecError
from strategy_profiles.run.event_files import read_sources
from strategy_profiles.run.status import derive_status
from strategy_profiles.spec.run_spec import RunSpec
from tests.event_records import read_records, run_records
from tests.processes import all_below, command_of, is_living
from tests.timeouts import MAX_WAIT_S, wait_until

pytestmark = pytest.mark.run
PRETENDED = (sys.executable, "-P", str(Path(__file__).parent / "pretend_worker.py"))
FORKED = tuple(module_command("tests.strategy_core.launcher.pretend_worker"))
"""As a module, from which a fork server forks workers."""
HANG_S = 3.0
"""Long enough for a worker on a busy machine to do a step meanwhile."""


@pytest.fixture(scope="module", params=["executed", "forked"])
def pretended(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Launcher]:
    """A launcher whose workers are executed, or one whose workers are forked after the first."""
    is_forked = request.param == "forked"
    if is_forked and sys.platform != "linux":
        pytest.skip("workers are forked on Linux alone")
    command = FORKED if is_forked else PRETENDED
    with Launcher(spare=True, stop_grace_s=MAX_WAIT_S, worker_command=command) as launcher:
        if is_forked:
            folder = tmp_path_factory.mktemp("first") / "run"
            assert launcher.launch(RunSpec(devices="cpu:2", steps=3), folder).wait(MAX_WAIT_S)
            assert launcher.wait_for_spare(MAX_WAIT_S)
            # The server, a reaper and the spare worker.
            assert len(pretended_workers("fork_server")) == 3
        yield launcher


def pretended_workers(command: str = "") -> list[psutil.Process]:
    """Processes below this one that execute a pretended worker, or are forked to be one."""
    lines = [(each, " ".join(command_of(each))) for each in all_below()]
    return [each for each, line in lines if "pretend_worker" in line and command in line]


@pytest.fixture
def launch(pretended: Launcher, tmp_path: Path) -> Iterator[Callable[..., RunHandle]]:
    handles = []

    def launch(accident: str | None = None, *, folder: str = "run", **fields: Any) -> RunHandle:
        options = {"accident": accident} | fields.pop("workload_options", {})
        spec = RunSpec(workload_options=options, devices="cpu:2", **{"steps": 10, **fields})
        handles.append(pretended.launch(spec, tmp_path / folder))
        return handles[-1]

    yield launch
    for handle in handles:
        handle.kill()
        assert handle.wait(MAX_WAIT_S)


def exits(handle: RunHandle) -> list[dict[str, Any]]:
    records = read_records(handle.folder / "launcher.jsonl")
    return [record for record in records if record["kind"] == "exited"]


def answers(handle: RunHandle) -> list[dict[str, Any]]:
    return [record for record in run_records(handle.folder) if record["kind"] == "answer"]


def steps(handle: RunHandle) -> list[int]:
    return [record["step"] for record in run_records(handle.folder) if record["kind"] == "step"]


def test_a_run_finishes_and_says_so(launch: Callable[..., RunHandle]) -> None:
    handle = launch()
    assert handle.wait(MAX_WAIT_S)
    assert (handle.status, handle.step, handle.exit_code) == ("finished", 9, 0)
    assert [record["verdict"] for record in exits(handle)] == ["finished"]
    assert derive_status(read_sources(handle.folder)).state == "finished"


def test_stop_ends_a_run_at_a_step_and_keeps_it(launch: Callable[..., RunHandle]) -> None:
    handle = launch(steps=1_000_000)
    wait_until(lambda: (handle.step or 0) > 2)
    assert derive_status(read_sources(handle.folder)).state == "running"
    handle.stop()
    assert handle.wait(MAX_WAIT_S)
    assert handle.status == "stopped"
    assert steps(handle) == list(range(len(steps(handle))))


def test_a_stop_that_is_not_obeyed_is_enforced(tmp_path: Path) -> None:
    spec = RunSpec(devices="cpu:2", steps=10, workload_options={"accident": "silence"})
    with Launcher(stop_grace_s=0.5, worker_command=PRETENDED) as impatient:
        handle = impatient.launch(spec, tmp_path / "run")
        wait_until(lambda: handle.step == 2)
        handle.stop()
        assert handle.wait(MAX_WAIT_S)
    assert handle.status == "stopped"
    assert "no step ended within" in str(handle.message)
    assert derive_status(read_sources(handle.folder)).state == "stopped"


ENDINGS = {
    "segfault": ("crashed", "SIGSEGV.*last step was 2.*about to touch address 0"),
    "exit": ("crashed", "left with code 3"),
    "fail": ("failed", "ValueError: no more"),
    "out of memory": ("out-of-memory", "ran out of memory"),
}


@pytest.mark.parametrize("accident", ENDINGS)
def test_an_accident_is_the_recorded_reason_of_the_end(
    launch: Callable[..., RunHandle], accident: str
) -> None:
    verdict, message = ENDINGS[accident]
    handle = launch(accident)
    assert handle.wait(MAX_WAIT_S)
    assert exits(handle)[-1]["verdict"] == verdict
    assert pytest.approx(2) == handle.step, "what was recorded before stays"
    assert re.search(message, str(handle.message), re.DOTALL), handle.message
    assert handle.status == "failed"
    assert derive_status(read_sources(handle.folder)).state == "failed"


def test_a_kill_from_outside_is_distinguished_from_out_of_memory(
    launch: Callable[..., RunHandle],
) -> None:
    handle = launch("silence")
    wait_until(lambda: handle.step == 2)
    os.kill(handle.pids[0], signal.SIGKILL)
    assert handle.wait(MAX_WAIT_S)
    assert exits(handle)[-1]["verdict"] == "killed"
    assert "Something outside the lab killed" in str(handle.message)
    assert "out-of-memory" in str(handle.message), "says what the kernel counted"


def test_a_run_killed_on_request_has_failed(launch: Callable[..., RunHandle]) -> None:
    handle = launch("silence")
    wait_until(lambda: handle.step == 2)
    handle.kill()
    assert handle.wait(MAX_WAIT_S)
    assert (exits(handle)[-1]["verdict"], handle.status) == ("killed", "failed")


def test_a_stopped_process_is_hung(launch: Callable[..., RunHandle]) -> None:
    handle = launch(steps=1_000_000, hang_timeout_s=HANG_S)
    wait_until(lambda: (handle.step or 0) > 2)
    os.kill(handle.pids[0], signal.SIGSTOP)
    assert handle.wait(MAX_WAIT_S)
    last = [r for r in run_records(handle.folder) if r["kind"] == "step"][-1]
    assert exits(handle)[-1]["at_ns"] - last["at_ns"] >= HANG_S * 1e9
    assert exits(handle)[-1]["verdict"] == "hung"
    assert "was stopped (SIGSTOP)" in str(handle.message)
    assert steps(handle)[-1] == handle.step


def test_a_full_disk_is_reported_and_loses_nothing(launch: Callable[..., RunHandle]) -> None:
    handle = launch(steps=1_000_000)
    wait_until(lambda: (handle.step or 0) > 2)
    events = handle.folder / "worker-0-0" / "events.jsonl"
    limit = events.stat().st_size + 500
    resource.prlimit(handle.pids[0], resource.RLIMIT_FSIZE, (limit, limit))
    assert handle.wait(MAX_WAIT_S)
    assert "An event cannot be written to the run folder" in str(handle.message)
    assert steps(handle) == list(range(len(steps(handle))))


def test_a_refused_request_frees_its_folder(launch: Callable[..., RunHandle]) -> None:
    refused = launch("refuse")
    assert refused.wait(MAX_WAIT_S)
    assert refused.exit_code == 2
    assert "no workload 'nonsense'" in str(refused.message)
    again = launch()
    assert again.wait(MAX_WAIT_S)
    assert again.status == "finished"


def test_a_folder_holds_one_run(launch: Callable[..., RunHandle], tmp_path: Path) -> None:
    assert launch().wait(MAX_WAIT_S)
    before = (tmp_path / "run" / "launcher.jsonl").read_bytes()
    with pytest.raises(RunFolderError, match=r"run holds a run already.*new or empty"):
        launch()
    assert (tmp_path / "run" / "launcher.jsonl").read_bytes() == before


def test_a_folder_with_other_files_is_left_alone(
    launch: Callable[..., RunHandle], tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("do not touch")
    with pytest.raises(RunFolderError, match="holds other files"):
        launch(folder="mine")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "run.json").write_text('{"name": "ha')
    with pytest.raises(RunFolderError, match="holds a run"):
        launch(folder="half")
    with pytest.raises(RunFolderError, match="a file"):
        launch(folder="mine/thesis.txt")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "do not touch"


def test_another_launcher_cannot_take_a_running_folder(
    launch: Callable[..., RunHandle], tmp_path: Path
) -> None:
    handle = launch(steps=1_000_000)
    with (
        Launcher(worker_command=PRETENDED, max_active=2) as other,
        pytest.raises(RunFolderError, match="run holds a run that is still writing to it"),
    ):
        other.launch(handle.spec, tmp_path / "run")


def test_a_second_run_is_refused_while_one_is_running(
    launch: Callable[..., RunHandle], tmp_path: Path
) -> None:
    launch(steps=1_000_000)
    with pytest.raises(LabError, match="at most 1 at a time"):
        launch(folder="second")
    assert not (tmp_path / "second").exists()


def test_a_wrong_request_never_makes_a_folder(
    launch: Callable[..., RunHandle], tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match="There is no workload"):
        launch(workload="nope")
    assert not (tmp_path / "run").exists()


def test_a_change_within_the_worker_is_applied_or_rejected(
    launch: Callable[..., RunHandle],
) -> None:
    handle = launch(steps=1_000_000)
    number = handle.reconfigure({"devices": "cpu:4"})
    refused = handle.reconfigure({"global_batch_size": 3})
    wait_until(lambda: len(answers(handle)) == 2)
    status_of = {answer["number"]: answer["status"] for answer in answers(handle)}
    assert status_of == {number: "applied", refused: "rejected"}
    assert handle.status == "running"


def test_a_change_that_needs_a_fresh_worker_loses_no_step(launch: Callable[..., RunHandle]) -> None:
    handle = launch(steps=1_000_000)
    wait_until(lambda: (handle.step or 0) > 2)
    old = handle.pids
    number = handle.reconfigure({"devices": "cpu:16"})
    wait_until(lambda: bool(answers(handle)))
    wait_until(lambda: bool(exits(handle)))
    assert [(a["number"], a["status"]) for a in answers(handle)] == [(number, "applied")]
    assert exits(handle)[0]["verdict"] == "replaced"
    wait_until(lambda: len(handle.pids) == 1)
    assert handle.pids != old
    handle.stop()
    assert handle.wait(MAX_WAIT_S)
    assert handle.status == "stopped"
    assert steps(handle) == list(range(len(steps(handle)))), "no step lost, none done twice"
    assert derive_status(read_sources(handle.folder)).state == "stopped"


def test_a_fresh_worker_that_fails_leaves_the_run_as_it_was(
    launch: Callable[..., RunHandle],
) -> None:
    handle = launch("fresh worker fails", steps=1_000_000)
    wait_until(lambda: (handle.step or 0) > 2)
    old = handle.pids
    handle.reconfigure({"devices": "cpu:16"})
    late = handle.reconfigure({"devices": "cpu:4"})
    wait_until(lambda: len(answers(handle)) == 2)
    first, second = answers(handle)
    assert first["status"] == "rejected"
    assert "The fresh worker cannot open" in first["message"]
    assert (second["number"], second["status"]) == (late, "applied"), "what was held comes after"
    assert handle.pids == old
    assert derive_status(read_sources(handle.folder)).state == "running"
    handle.stop()
    assert handle.wait(MAX_WAIT_S)
    assert steps(handle) == list(range(len(steps(handle))))
    assert derive_status(read_sources(handle.folder)).state == "stopped"


def test_the_next_spare_waits_once_a_run_is_under_way(
    pretended: Launcher, launch: Callable[..., RunHandle]
) -> None:
    assert pretended.wait_for_spare(MAX_WAIT_S)
    handle = launch(steps=1_000_000)
    records = read_records(handle.folder / "launcher.jsonl")
    assert records[0]["from_spare"] is True
    wait_until(lambda: pretended.spare_state == "ready")
    inventory = pretended.inventory()
    assert inventory is not None
    assert inventory.count("CPU") == 1


def test_the_next_spare_is_started_after_the_first_capture_or_a_while_without_one(
    pretended: Launcher, launch: Callable[..., RunHandle], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its imports use a core for seconds, which the first capture wants, too."""
    assert pretended.wait_for_spare(MAX_WAIT_S)
    monkeypatch.setattr(worker_pool, "WITHOUT_CAPTURE_S", MAX_WAIT_S)
    handle = launch(steps=1_000_000, workload_options={"no_capture": True})
    wait_until(lambda: (handle.step or 0) > 50)
    assert pretended.spare_state == "none"
    monkeypatch.setattr(worker_pool, "WITHOUT_CAPTURE_S", 0.0)
    assert pretended.wait_for_spare(MAX_WAIT_S)


def test_a_spare_worker_that_died_is_not_used(
    pretended: Launcher, launch: Callable[..., RunHandle]
) -> None:
    assert pretended.wait_for_spare(MAX_WAIT_S)
    idle = pretended_workers()
    assert idle
    for process in idle:
        process.kill()
    wait_until(lambda: not any(is_living(process.pid) for process in idle))
    handle = launch()
    assert handle.wait(MAX_WAIT_S)
    assert handle.status == "finished"
    records = read_records(handle.folder / "launcher.jsonl")
    assert records[0]["from_spare"] is False


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux alone")
def test_a_launcher_of_many_runs_forks_all_of_them(tmp_path: Path) -> None:
    """Each would import TensorFlow otherwise; so would a new process that has it, if one ends."""
    servers = []
    with Launcher(forks=True, worker_command=FORKED) as launcher:
        for turn in ("first", "second", "after a kill"):
            handle = launcher.launch(RunSpec(devices="cpu:2", steps=1_000_000), tmp_path / turn)
            wait_until(lambda: (handle.step or 0) > 2)  # noqa: B023 - called at once
            _, server, *_ = psutil.Process(handle.pids[0]).parents()
            assert "fork_server" in " ".join(server.cmdline())
            servers.append(server.pid)
            handle.stop()
            assert handle.wait(MAX_WAIT_S)
            assert handle.status == "stopped"
            if turn == "second":
                server.kill()
                wait_until(lambda: not is_living(server.pid))  # noqa: B023 - called at once
    assert servers[0] == servers[1] != servers[2]


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux alone")
def test_a_stopped_fork_server_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each later start waited for it. It ends when the run that it has forked has ended."""
    monkeypatch.setattr(fork_client, "_FORKED_WITHIN_S", 0.5)
    notes = {}
    with Launcher(forks=True, worker_command=FORKED, max_active=2) as launcher:

        def begun(name: str) -> tuple[RunHandle, psutil.Process]:
            handle = launcher.launch(RunSpec(devices="cpu:2", steps=1_000_000), tmp_path / name)
            wait_until(lambda: (handle.step or 0) > 2)
            records = read_records(handle.folder / "launcher.jsonl")
            notes[name] = [each["message"] for each in records if each["kind"] == "note"]
            return handle, psutil.Process(handle.pids[0]).parents()[1]

        def end(handle: RunHandle) -> None:
            handle.stop()
            assert handle.wait(MAX_WAIT_S)
            assert handle.status == "stopped"

        first, server = begun("first")
        server.suspend()
        second, _ = begun("second")
        assert ["did not answer within 0.5 s" in note for note in notes["second"]] == [True]
        end(second)
        third, other = begun("third")
        assert "fork_server" in " ".join(other.cmdline())
        assert (other.pid == server.pid, notes["third"]) == (False, [])
        assert is_living(first.pids[0]), "the run that the stopped server has forked goes on"
        end(first)
        end(third)
        begun("fourth")
        wait_until(lambda: not is_living(server.pid))
    assert not is_living(other.pid)


def test_processes_that_a_worker_started_end_with_it(launch: Callable[..., RunHandle]) -> None:
    """Whatever session it went to; the run itself ended well."""
    handle = launch(steps=8, accident="child that left")
    assert handle.wait(MAX_WAIT_S)
    assert handle.status == "finished"
    pid = int((handle.folder / "worker-0-0" / "child.pid").read_text())
    wait_until(lambda: not is_living(pid))


LEFT_BEHIND = ["child without a mark", "forked child", "forked child of a child that left"]


@pytest.mark.skipif(sys.platform != "linux", reason="a child subreaper is Linux's")
@pytest.mark.parametrize("accident", LEFT_BEHIND)
def test_a_run_ends_whatever_its_code_leaves_behind(
    launch: Callable[..., RunHandle], accident: str
) -> None:
    handle = launch(accident)
    assert handle.wait(MAX_WAIT_S)
    assert (handle.status, handle.step, handle.exit_code) == ("finished", 9, 0)
    child = handle.folder / "worker-0-0" / "child.pid"
    assert not is_living(int(child.read_text()))


@pytest.mark.parametrize("accident", LEFT_BEHIND)
def test_stop_ends_a_run_whatever_its_code_leaves_behind(
    launch: Callable[..., RunHandle], accident: str
) -> None:
    handle = launch(accident, steps=1_000_000)
    wait_until(lambda: (handle.step or 0) > 5)
    handle.stop()
    assert handle.wait(MAX_WAIT_S)
    assert handle.status == "stopped"


def reaper_of(worker: int) -> psutil.Process:
    reaper = psutil.Process(worker).parent()
    assert reaper is not None
    assert re.search("reaper.py|fork_server", " ".join(reaper.cmdline()))
    return reaper


@pytest.mark.skipif(sys.platform != "linux", reason="a child subreaper is Linux's")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_losing_the_reaper_ends_the_run_and_its_children(
    launch: Callable[..., RunHandle], how: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_process, "_REAPER_S", 1.0)  # how long a stopped one has
    handle = launch("child that left", steps=1_000_000)
    child_file = handle.folder / "worker-0-0" / "child.pid"
    wait_until(lambda: child_file.exists() and child_file.read_text() != "")
    (worker,) = handle.pids
    reaper_of(worker).send_signal(how)
    handle.kill()
    assert handle.wait(MAX_WAIT_S)
    assert handle.status == "failed"
    assert not is_living(worker)
    assert not is_living(int(child_file.read_text()))


def test_close_ends_everything(tmp_path: Path) -> None:
    with Launcher(spare=True, worker_command=PRETENDED) as launcher:
        handle = launcher.launch(
            RunSpec(devices="cpu:2", workload_options={"accident": "child"}), tmp_path / "run"
        )
        child_file = tmp_path / "run" / "worker-0-0" / "child.pid"
        wait_until(lambda: child_file.exists() and child_file.read_text() != "")
        pids = [*handle.pids, int(child_file.read_text())]
    wait_until(lambda: not any(map(is_living, pids)))
    assert handle.status == "failed"
    with pytest.raises(LabError, match="This launcher is closed"):
        launcher.launch(handle.spec, tmp_path / "other")
