"""Real clusters with a network interface per worker: reported bytes against the kernel's count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import strategy_profiles
from benchmarks.wire import WORKLOAD
from strategy_core.cluster.network.isolation import lay_network
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.analysis.derived_links import FROM_COLLECTIVES
from strategy_profiles.analysis.links import Links, links
from strategy_profiles.errors import LabError
from strategy_profiles.spec.run_spec import NetworkOptions, RunSpec
from tests.timeouts import MAX_WAIT_S

pytestmark = [pytest.mark.run, pytest.mark.tf]

SIZE_BYTES = 4_000_000
LOSS_BYTES = 100
"""More than the scalars that are reduced beside the gradient."""
NUM_STEPS = 12
RATE_MBIT = 200.0


def recorded(launcher: Launcher, folder: Path, workers: int, **network: object) -> Path | None:
    """A run of that many workers, each with an interface; None where the system refuses them."""
    spec = RunSpec.model_validate(
        {
            "strategy": "multi-worker-mirrored",
            "workers": workers,
            "devices": "cpu:1",
            "workload": str(WORKLOAD),
            "workload_options": {"size": SIZE_BYTES // 4},
            "global_batch_size": 4 * workers,
            "steps": NUM_STEPS,
            "capture": {"overhead_budget": 1.0, "window_steps": 2},
            "network": {"interfaces": True, **network},
        }
    )
    try:
        lay_network(NetworkOptions(interfaces=True), workers).close()
    except LabError:
        with pytest.raises(LabError, match="Links cannot be emulated here"):
            launcher.launch(spec, folder)
        assert not folder.exists(), "what was refused leaves nothing behind"
        return None
    handle = launcher.launch(spec, folder)
    assert handle.wait(MAX_WAIT_S), "the run did not end"
    assert handle.status == "finished", f"{handle.message}\n{handle.failure_detail}"
    return folder


@pytest.mark.long(keep=1)
@pytest.mark.parametrize("workers", [2, 3, 4])
def test_links_carry_what_the_kernel_counts(
    launcher: Launcher, tmp_path: Path, workers: int
) -> None:
    slow = {"rate_mbit": RATE_MBIT} if workers == 2 else {}
    run = recorded(launcher, tmp_path / "run", workers, **slow)
    if run is None:  # the system refuses interfaces: `recorded` has checked that the lab says so
        return
    profile = strategy_profiles.load(run)
    run_links = links(profile, profile.segments[0])
    assert run_links.reason is None
    assert run_links.num_steps == NUM_STEPS - 1
    check_ring(run_links, workers)
    check_interfaces(run_links, workers)
    if slow:
        wall_ms = np.median(profile.table("steps")["wall_ms"].to_numpy()[2:])
        assert wall_ms >= 0.9 * SIZE_BYTES * 8 / (RATE_MBIT * 1e3), "no faster than its link"


def check_ring(run_links: Links, workers: int) -> None:
    """Each sends its neighbour 2(n-1)/n of the gradient, and almost nothing to the others."""
    share = 2 * (workers - 1) / workers * SIZE_BYTES
    assert run_links.derived_from == FROM_COLLECTIVES
    ring = {(worker, (worker + 1) % workers) for worker in range(workers)}
    for link in run_links.links:
        pair = link.from_worker, link.to_worker
        assert link.bytes is not None
        if pair in ring:
            assert link.derived_bytes == pytest.approx(share, abs=2 * LOSS_BYTES)
            assert link.bytes == pytest.approx(share, rel=0.02)
        else:
            assert link.bytes < 0.01 * share


def check_interfaces(run_links: Links, workers: int) -> None:
    """Payload, headers and what was sent again are what the interface counted."""
    assert len(run_links.interfaces) == 2 * workers
    for use in run_links.interfaces:
        explained_bytes = use.payload_bytes + use.header_bytes + use.retransmitted_bytes
        assert explained_bytes == pytest.approx(use.bytes, rel=0.02)
        assert use.overhead is not None
        assert use.overhead > 0
