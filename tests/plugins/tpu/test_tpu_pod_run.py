"""A TPU on several hosts, as a run of the lab: it learns what one process learns, it changes its
hosts while it runs, every table tells whose a core is, and a lost host is named."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.analysis.cores import cores
from strategy_profiles.analysis.links import links
from strategy_profiles.analysis.losses import loss
from strategy_profiles.spec.run_spec import RunSpec, parse_spec
from tests.timeouts import MAX_WAIT_S, wait_until

pytestmark = pytest.mark.run

CHANGED_AT = 120
"""Long after the first capture: it has time to begin on all hosts, however busy they are."""
NUM_STEPS = 126


@dataclass(frozen=True)
class Runs:
    """The same training twice: from two hosts to one process, and the other way round."""

    merged: strategy_profiles.Profile
    spread: strategy_profiles.Profile
    """It goes on until a host is killed."""
    why: str


def _spec(workers: int, then: int, **fields: Any) -> RunSpec:
    return parse_spec(
        {
            "strategy": "tpu",
            "devices": "cpu:8",
            "workers": workers,
            "tpu": {"cores_per_replica": 2},
            "workload": "digits-mlp",
            "global_batch_size": 32,
            "steps": NUM_STEPS,
            "reconfigure": [{"step": CHANGED_AT, "changes": {"workers": then}}],
        }
        | fields
    )


@pytest.fixture(scope="module")
def runs(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("pod")
    merged = launcher.launch(_spec(2, then=1), folder / "merged")
    assert merged.wait(MAX_WAIT_S), "the run did not end"
    assert merged.status == "finished", f"{merged.message}\n{merged.failure_detail}"
    spread = launcher.launch(_spec(1, then=2, steps=1_000_000), folder / "spread")
    wait_until(lambda: (spread.step or 0) >= NUM_STEPS or spread.is_over)
    spread.kill_process(2)
    assert spread.wait(MAX_WAIT_S), "the run did not end"
    return Runs(
        strategy_profiles.load(folder / "merged"),
        strategy_profiles.load(folder / "spread"),
        str(spread.message),
    )


def _losses(run: strategy_profiles.Profile) -> list[float]:
    table = run.table("steps")
    by_step = dict(zip(table["step"].to_pylist(), table["loss"].to_pylist(), strict=True))
    return [by_step[step] for step in range(NUM_STEPS)]


def test_hosts_learn_what_one_process_learns(runs: Runs) -> None:
    for run, workers in ((runs.merged, [2, 1]), (runs.spread, [1, 2])):
        assert [segment.num_workers for segment in run.segments] == workers
        assert [segment.num_replicas for segment in run.segments] == [4, 4]
        changed = run.segments[1]
        assert changed.moved == "fresh-worker"
        assert changed.state_checksum_before == changed.state_checksum_after
    losses = _losses(runs.merged)
    assert losses == pytest.approx(_losses(runs.spread), rel=1e-3)
    assert losses[-1] < losses[0]


def test_replicas_are_numbered_host_by_host(runs: Runs) -> None:
    segment = runs.merged.segments[0]
    assert segment.core_devices == [
        [f"/job:host/replica:0/task:{host}/device:CPU:{2 * half + core}" for core in (0, 1)]
        for host in (0, 1)
        for half in (0, 1)
    ]


def _workers(run: strategy_profiles.Profile, table: str) -> set[int]:
    rows = run.sql(f"select distinct worker from {table} where segment = 0")
    return set(rows["worker"].to_pylist())


def test_every_table_tells_whose_a_core_is(runs: Runs) -> None:
    run, segment = runs.merged, runs.merged.segments[0]
    assert run.sql("select 1 from core_steps where segment = 0").num_rows, "nothing was captured"
    for table in ("marks", "replica_steps", "core_steps"):
        assert _workers(run, table) == {1, 2}, table
    for table in ("collectives", "transfers", "placement", "spans"):  # the coordinator has some
        assert _workers(run, table) - {0} == {1, 2}, table
    homes = run.sql(
        "select distinct worker, replica, core, device from core_steps where segment = 0"
    ).to_pylist()
    assert {(row["replica"], row["core"]) for row in homes} <= {
        (replica, core) for replica in range(4) for core in (0, 1)
    }
    for row in homes:
        assert f"/job:host/replica:0/task:{row['worker'] - 1}/" in row["device"]
    found = cores(run, segment)
    assert [core.worker for core in found.cores] == [1, 1, 1, 1, 2, 2, 2, 2]
    assert all(core.num_ops for core in found.cores if core.core == 0)


def test_links_are_between_the_coordinator_and_the_hosts(runs: Runs) -> None:
    found = links(runs.merged, runs.merged.segments[0])
    assert found.names == {0: "coordinator", 1: "host 0", 2: "host 1"}
    sent = {(link.from_worker, link.to_worker): link for link in found.links}
    assert (sent[1, 2].derived_bytes or 0) > 10_000
    assert (sent[2, 1].derived_bytes or 0) > 10_000


def test_a_lost_host_ends_the_run_by_its_name(runs: Runs) -> None:
    assert runs.why.startswith("Host 1: ")
    lost = loss(runs.spread)
    assert lost is not None
    assert (lost.worker, lost.title) == (2, "host 1")
    assert runs.spread.status.state == "failed"


def test_each_host_reads_its_own_input(runs: Runs) -> None:
    """The pipelines are on the hosts: no batch passes the coordinator."""
    sent = runs.merged.sql(
        "select coalesce(max(bytes), 0) as most from transfers "
        "where segment = 0 and send_device like '/job:chief/%'"
    )
    assert sent["most"][0].as_py() < 1000


def test_the_folder_has_a_part_for_each_process(runs: Runs) -> None:
    names = {path.name for path in Path(runs.merged.path).glob("worker-*")}
    assert {"worker-0-0", "worker-1-0", "worker-2-0", "worker-0-1"} <= names
