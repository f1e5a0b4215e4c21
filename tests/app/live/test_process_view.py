"""Viewers receive all of a run's processes at first, then again only when one changes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from strategy_app.live.live_run import LiveRun
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.event_parts import LinkCounts, ProcessUse
from strategy_profiles.run.events import (
    ClosureDone,
    Exited,
    Failed,
    Launched,
    LinkBytes,
    MemorySampled,
    ResourcesSampled,
    StepDone,
    WorkerStarted,
)
from strategy_profiles.run.layout import LAUNCHER_EVENTS, worker_folder
from tests.synthetic import HOSTILE


class Cluster:
    """The event files of a run of two workers, written by hand."""

    def __init__(self, folder: Path) -> None:
        self.launcher = EventLog(folder / LAUNCHER_EVENTS)
        self.workers = [EventLog(worker_folder(folder, worker).events) for worker in range(2)]
        self.live = LiveRun(folder, clock=lambda: 0.0)
        for worker in range(2):
            task, address = f"worker {worker}", f"127.0.0.1:{4000 + worker}"
            self.launcher.write(Launched(worker, 0, 2**22 - 2, 1, False, task, address))

    def message(self, cursor: str = "") -> tuple[dict[str, Any], str]:
        self.live.advance()
        text, after = self.live.message(cursor)
        return json.loads(text), after


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


def test_the_process_group_is_sent_once_and_again_when_it_changes(cluster: Cluster) -> None:
    first, cursor = cluster.message()
    assert [row["title"] for row in first["group"]["processes"]] == ["worker 0", "worker 1"]
    assert first["group"]["processes"][1]["address"] == "127.0.0.1:4001"
    cluster.workers[0].write(StepDone(0, 0, 0, 1.0, 0.5, 8, False))
    second, cursor = cluster.message(cursor)
    assert second["group"] is None
    cluster.workers[1].write(Failed("Out of luck", "", False))
    third, cursor = cluster.message(cursor)
    assert [row["state"] for row in third["group"]["processes"]] == ["starting", "lost"]
    assert cluster.message("12-0")[0]["group"] == third["group"]  # none of our cursors: all again


def test_a_loss_is_described_and_only_the_process_at_fault_is_news(cluster: Cluster) -> None:
    cluster.workers[0].write(Failed("UnavailableError: gone", "", True))
    cluster.launcher.write(Exited(0, 0, 1, "failed", "Worker 0: UnavailableError: gone", 1, 2000))
    cluster.launcher.write(Exited(1, 0, -9, "killed", "Worker 1: Killed on request.", None, 1000))
    message, _ = cluster.message()
    assert message["group"]["loss"][0] == "Worker 1 was lost. Killed on request."
    assert message["status"]["message"] == "Worker 1: Killed on request."
    exits = [item for item in message["news"] if item["kind"] == "exited"]
    assert {item["worker"]: item["is_consequence"] for item in exits} == {0: True, 1: False}


def test_a_process_group_takes_over_as_one_and_a_process_that_returns_alone_is_news(
    cluster: Cluster,
) -> None:
    cluster.launcher.write(Launched(1, 1, 2**22 - 3, 1, False, "worker 1"))
    news = [item for item in cluster.message()[0]["news"] if item["kind"] == "launched"]
    assert [(item["worker"], item["generation"]) for item in news] == [(0, 0), (1, 1)]


def test_memory_is_the_newest_of_each_process(cluster: Cluster) -> None:
    for used in (5_000, 7_000):
        cluster.workers[1].write(MemorySampled("host", 0, used, None, "process-resident"))
    cluster.workers[1].write(MemorySampled("gpu", 0, 9_000, None, "tf"))
    assert cluster.message()[0]["resources"]["memory"] == {"1": 7_000}


def test_cores_are_the_newest_sample_beside_those_of_other_programs(cluster: Cluster) -> None:
    for cores in (0.2, 0.5):
        used = [ProcessUse(0, 0, 1.5, 3_000), ProcessUse(1, 0, cores, None)]
        cluster.launcher.write(ResourcesSampled(2000.0, 4, 3.0, 0.25, used))
    row = cluster.message()[0]["resources"]
    assert row["cores"] == {"0": 1.5, "1": 0.5}
    assert row["memory"] == {"0": 3_000}
    assert row["machines"] == [
        {"worker": 0, "num_cores": 4, "run_cores": 2.0, "other_cores": 1.0, "stolen_cores": 0.25}
    ]


def test_a_process_that_replaced_another_starts_without_samples(cluster: Cluster) -> None:
    used = [ProcessUse(1, 0, 1.5, 3_000)]
    cluster.launcher.write(ResourcesSampled(2000.0, 4, 3.0, 0.25, used))
    cluster.launcher.write(Launched(1, 1, 2**22 - 3, 1, False, "worker 1"))
    row = cluster.message()[0]["resources"]
    assert row["cores"] == row["memory"] == {}


def test_network_is_bytes_per_second_between_two_counts(cluster: Cluster) -> None:
    begun_ns, log = time.time_ns(), cluster.workers[1]
    for second, sent in ((1, 1_000), (3, 5_000)):
        at_ns = begun_ns + second * 10**9
        log.now_ns = lambda at_ns=at_ns: at_ns
        links = [LinkCounts(sent, 2 * sent, 0, True), LinkCounts(10, 10, 0, False)]
        log.write(LinkBytes(0, 1, links))
    assert cluster.message()[0]["resources"]["network"] == {"1": {"sent": 2_000, "received": 4_000}}


def test_processes_without_a_launcher_are_known_by_what_they_say(tmp_path: Path) -> None:
    EventLog(worker_folder(tmp_path, 1).events).write(WorkerStarted(1, 77, 0, 0))
    live = LiveRun(tmp_path, clock=lambda: 0.0)
    live.advance()
    (row,) = json.loads(live.message()[0])["group"]["processes"]
    assert (row["title"], row["pid"], row["state"]) == ("worker 1", 77, "starting")


def test_text_from_a_run_stays_a_json_string(cluster: Cluster) -> None:
    cluster.launcher.write(Exited(1, 0, -9, "killed", HOSTILE, None, 1000))
    cluster.launcher.write(Exited(0, 0, -9, "killed", HOSTILE, 1, 2000))
    message, _ = cluster.message()
    assert HOSTILE.strip() in message["group"]["processes"][1]["message"]


def test_steps_of_workers_of_parameter_servers_are_counted(cluster: Cluster) -> None:
    for step, worker in enumerate((1, 1, 0)):
        cluster.workers[0].write(ClosureDone(0, step, worker, 0, (1, None, None, None, 2), 1))
    message, _ = cluster.message()
    assert {number: told["steps"] for number, told in message["served"].items()} == {"0": 1, "1": 2}
    assert message["steps"] == []


def test_a_loss_is_still_told_when_the_lost_one_is_back(cluster: Cluster) -> None:
    cluster.launcher.write(Exited(1, 0, -9, "killed", "Worker 1: Killed on request.", None, 1000))
    cluster.launcher.write(Launched(1, 1, 2**22 - 3, 1, False, "worker 1"))
    assert cluster.message()[0]["group"]["loss"] == [
        "Worker 1 was lost. Killed on request.",
        "worker 1 was restarted (generation 1).",
    ]
