"""What became of a run whose processes were each started, and watched, on a host of their own."""

from __future__ import annotations

import platform
from typing import Any

from strategy_profiles.run.event_files import EventSource
from strategy_profiles.run.layout import launcher_file, launcher_files
from strategy_profiles.run.status import Status, derive_status
from tests.event_records import source
from tests.profiles.run.test_status import FINISHED, NOW_NS, exited, launched, worker

HEARD = {"kind": "failed", "message": "Socket closed", "follows": True}
HERE = platform.node()


def host(number: int, name: str, *records: dict[str, Any]) -> EventSource:
    """The launcher's events of one host."""
    start = launched(number) | {"host": name, "task": f"worker {number}", "at_ns": NOW_NS}
    return source(None, None, start, *records)


def status(*sources: EventSource, alive: bool = False, later_s: int = 0) -> Status:
    now_ns = NOW_NS + later_s * 10**9
    return derive_status(sources, alive=lambda _: alive, now_ns=lambda: now_ns)


def test_a_killed_process_is_named_before_peers_that_report_its_loss() -> None:
    killed = exited("killed", number=1) | {"message": "Worker 1: killed (SIGKILL)."}
    run_status = status(
        host(0, "a", exited("failed") | {"message": "Worker 0: Socket closed"}),
        host(1, "b", killed),
        worker(HEARD),
        worker(number=1),
    )
    assert run_status == Status("failed", "Worker 1: killed (SIGKILL).")


def test_a_host_that_fell_silent_is_named() -> None:
    run_status = status(
        host(0, "a", exited("failed")), host(1, "b"), worker(HEARD), worker(number=1), later_s=600
    )
    assert run_status.state == "failed"
    assert (
        run_status.message == "No further event came from worker 1 on b. Its peers: Socket closed"
    )


def test_a_process_on_another_host_runs_while_it_writes() -> None:
    sources = (host(0, "elsewhere"), worker())
    assert status(*sources, later_s=30).state == "running"
    assert status(*sources, later_s=600).state == "incomplete"
    assert status(*sources, worker({"kind": "step", "at_ns": NOW_NS + 590 * 10**9}, number=0),
                  later_s=600).state == "running"  # fmt: skip


def test_a_process_on_another_host_that_ended_does_not_run() -> None:
    sources = (host(0, "elsewhere", exited("finished")), worker(FINISHED))
    assert status(*sources).state == "finished"
    assert status(host(1, "elsewhere", exited("replaced"))).state != "finished"


def test_a_process_on_this_machine_is_looked_at() -> None:
    sources = (host(0, HERE), worker())
    assert status(*sources, alive=True, later_s=600).state == "running"
    assert status(*sources, alive=False).state == "incomplete"


def test_every_launcher_has_a_file_of_its_own(tmp_path: Any) -> None:
    for number in (10, 0, 2):
        launcher_file(tmp_path, number).touch()
    names = [path.name for path in launcher_files(tmp_path)]
    assert names == ["launcher.jsonl", "launcher-2.jsonl", "launcher-10.jsonl"]
