"""The Lab page for runs of several processes: asked for, changed, and one of them killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from strategy_app.components.live import ViewerRequest
from strategy_app.control import watch
from strategy_app.server import state
from strategy_core.planning import validation
from strategy_core.planning.inventory import Inventory
from strategy_core.planning.validation import CheckedSpec
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import CommandAnswered, SegmentOpened
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.spec.run_spec import RunSpec
from tests.app.looking import open_page, rerun
from tests.app.pages.test_lab_page import (
    CPU,
    GPUS,
    PretendedLauncher,
    PretendedRun,
    errors,
    live,
    press,
)

pytestmark = pytest.mark.slow


class PretendedCluster(PretendedRun):
    """Notes whom it is asked to kill."""

    def kill_process(self, number: int) -> None:
        self.asked.append(("kill", number))


class ClusterLauncher(PretendedLauncher):
    def launch(
        self, asked: RunSpec | CheckedSpec, folder: Path, _checkpoint: Path | None = None
    ) -> PretendedRun:
        spec = validation.check(asked).spec
        self.launched.append(PretendedCluster(spec, folder))
        return self.launched[-1]


@pytest.fixture
def launcher() -> ClusterLauncher:
    return ClusterLauncher()


def keys(at: AppTest) -> list[str]:
    return [str(item.key) for item in at.number_input]


def test_workers_are_asked_for_only_where_a_strategy_has_them(lab: Path) -> None:
    at = open_page("lab", lab)
    assert "cluster_workers" not in keys(at)
    press(at, "MultiWorkerMirroredStrategy")
    assert {"cluster_workers", "heartbeat", "bytes_per_pack"} <= set(keys(at))
    assert "cluster_servers" not in keys(at)
    press(at, "ParameterServerStrategy")
    assert "cluster_servers" in keys(at)
    press(at, "MirroredStrategy")
    assert "cluster_workers" not in keys(at)


def test_a_cluster_runs_as_soon_as_its_strategy_is_chosen(
    lab: Path, launcher: ClusterLauncher
) -> None:
    at = press(open_page("lab", lab), "MultiWorkerMirroredStrategy")
    assert "collective_timeout" in keys(at)
    press(at, "Run")
    spec = launcher.launched[0].spec
    assert (spec.strategy, spec.workers, spec.devices) == ("multi-worker-mirrored", 2, "cpu:1")
    assert spec.parameter_servers == 0


def test_servers_and_timeouts_go_into_the_run(lab: Path, launcher: ClusterLauncher) -> None:
    at = press(open_page("lab", lab), "ParameterServerStrategy")
    assert "collective_timeout" not in keys(at)  # they meet in none
    at.number_input(key="cluster_workers").set_value(3)
    at.number_input(key="cluster_servers").set_value(2)
    at.number_input(key="heartbeat").set_value(7.0)
    at.number_input(key="restarts").set_value(1)
    at.number_input(key="batch").set_value(240)
    press(at, "Run")
    assert not errors(at)
    spec = launcher.launched[0].spec
    assert (spec.workers, spec.parameter_servers) == (3, 2)
    assert (spec.cluster.heartbeat_timeout_s, spec.cluster.restarts) == (7.0, 1)


def test_weights_are_cut_as_asked_for(lab: Path, launcher: ClusterLauncher) -> None:
    at = press(open_page("lab", lab), "ParameterServerStrategy")
    assert not {"partition_parts", "partition_part_bytes"} & set(keys(at))
    at.selectbox(key="partition_partitioner").set_value("min-size").run()
    assert {"partition_parts", "partition_part_bytes"} <= set(keys(at))
    at.number_input(key="partition_part_bytes").set_value(4096)
    press(at, "Run")
    assert not errors(at)
    servers = launcher.launched[0].spec.parameter_server
    assert (servers.partitioner, servers.parts, servers.part_bytes) == ("min-size", 0, 4096)


def test_a_batch_that_workers_cannot_share_is_said_once(
    lab: Path, launcher: ClusterLauncher
) -> None:
    at = press(open_page("lab", lab), "MultiWorkerMirroredStrategy")
    at.number_input(key="cluster_workers").set_value(3)
    press(at, "Run")
    assert len(at.error) == 1
    assert "The nearest that fits is 255" in errors(at)
    assert not launcher.launched


def test_workers_on_one_machine_do_not_share_its_gpus_by_default(
    lab: Path, launcher: ClusterLauncher
) -> None:
    launcher.devices = (CPU, *GPUS)
    assert launcher.inventory() == Inventory((CPU, *GPUS), "2.21.0")
    press(press(open_page("lab", lab), "MultiWorkerMirroredStrategy"), "Run")
    assert launcher.launched[0].spec.devices == "cpu:1"


def test_a_delay_is_for_the_replica_of_one_worker(lab: Path, launcher: ClusterLauncher) -> None:
    at = press(open_page("lab", lab), "MultiWorkerMirroredStrategy")
    slider = next(item for item in at.slider if item.label == "Worker 1 / replica 1")
    slider.set_value(30)
    press(at, "Run")
    (delay,) = launcher.launched[0].spec.inject
    assert (delay.worker, delay.replica, delay.ms) == (1, 0, 30)


def running(
    lab: Path, launcher: ClusterLauncher, **fields: Any
) -> tuple[AppTest, PretendedRun, EventLog]:
    """A page that watches a run whose first segment has these fields."""
    at = press(open_page("lab", lab), "Run")
    run = launcher.launched[0]
    spec = run.spec.with_changes(fields)
    log = EventLog(worker_folder(run.folder, 0).events)
    log.write(SegmentOpened(0, spec.strategy, 2, 2, 256, 0, 0, [], "auto", spec.to_json()))
    return rerun(at), run, log


def test_one_process_becomes_several_while_it_runs(lab: Path, launcher: ClusterLauncher) -> None:
    at, run, _ = running(lab, launcher, devices="cpu:2")
    live(at, "selectbox", "_strategy").set_value("multi-worker-mirrored")
    rerun(at)
    assert live(at, "number_input", "_workers").value == 2
    press(at, "Apply")
    assert run.asked == [{"strategy": "multi-worker-mirrored", "workers": 2, "devices": "cpu:1"}]


SERVED = {
    "strategy": "parameter-server",
    "devices": "cpu:1",
    "workers": 2,
    "parameter_servers": 1,
}


def test_weights_are_cut_while_the_run_goes_on_and_whole_without_servers(
    lab: Path, launcher: ClusterLauncher
) -> None:
    at, run, log = running(lab, launcher, **SERVED)
    live(at, "selectbox", "_partitioner").set_value("fixed").run()
    press(at, "Apply")
    assert run.asked == [{"parameter_server.partitioner": "fixed"}]
    cut = run.spec.with_changes({**SERVED, "parameter_server.partitioner": "fixed"})
    log.write(SegmentOpened(1, cut.strategy, 2, 2, 256, 5, 0, [], "auto", cut.to_json()))
    log.write(CommandAnswered(1, "reconfigure", "applied", 5))
    live(rerun(at), "selectbox", "_strategy").set_value("mirrored")
    rerun(at)
    press(at, "Apply")
    assert not errors(at)
    assert run.asked[1]["parameter_server.partitioner"] == "none"


PACKED = {"cross_device_ops": "hierarchical-copy", "num_packs": 2}


def test_packing_of_another_strategy_is_not_carried_along(
    lab: Path, launcher: ClusterLauncher
) -> None:
    at, run, _ = running(lab, launcher, devices="cpu:2", **PACKED)
    live(at, "selectbox", "_strategy").set_value("multi-worker-mirrored")
    rerun(at)
    press(at, "Apply")
    assert not errors(at)
    assert (run.asked[0]["cross_device_ops"], run.asked[0]["num_packs"]) == ("auto", 1)


def test_a_change_that_this_machine_cannot_have_is_said_before_it_is_sent(
    lab: Path, launcher: ClusterLauncher
) -> None:
    at, run, _ = running(lab, launcher, **CLUSTER)
    live(at, "selectbox", "_ops_3").set_value("nccl")
    press(at, "Apply")
    assert len(at.error) == 1
    assert "NCCL works on GPUs only" in errors(at)
    assert not run.asked


CLUSTER = {"strategy": "multi-worker-mirrored", "devices": "cpu:1", "workers": 2}


def test_several_become_one_with_as_many_replicas(lab: Path, launcher: ClusterLauncher) -> None:
    at, run, _ = running(lab, launcher, **CLUSTER)
    live(at, "selectbox", "_strategy").set_value("mirrored")
    rerun(at)
    press(at, "Apply")
    assert run.asked == [{"strategy": "mirrored", "workers": 1, "devices": "cpu:2"}]


def test_a_worker_comes_and_goes_with_its_delay(lab: Path, launcher: ClusterLauncher) -> None:
    delay = {"kind": "delay", "replica": 0, "ms": 20.0, "worker": 1}
    at, run, _ = running(lab, launcher, **CLUSTER, inject=[delay])
    live(at, "number_input", "_workers").set_value(4)
    press(at, "Apply")
    live(at, "number_input", "_workers").set_value(1)
    rerun(at)
    assert run.asked == [{"workers": 4}]


def test_a_process_is_killed_where_its_run_is_our_own(
    lab: Path, launcher: ClusterLauncher, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, run, _ = running(lab, launcher, **CLUSTER)
    monkeypatch.setattr(
        watch, "live_view", lambda _run, can_kill, **_: ViewerRequest(1 if can_kill else None, None)
    )
    rerun(at)
    assert run.asked == [("kill", 1)]
    launcher.launched.clear()
    state.lab().handles.clear()  # now the run is one that somebody else started
    rerun(at)
    assert run.asked == [("kill", 1)], "nothing more was asked of it"
