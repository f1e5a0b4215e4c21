"""Bytes over the links of a TPU's mesh."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.analysis.cores import cores
from strategy_profiles.spec.run_spec import RunSpec
from strategy_tpu.shown.mesh_links import MeshLinks, mesh_links, route
from tests.synthetic import write_run
from tests.timeouts import MAX_WAIT_S


def mesh_of(profile: strategy_profiles.Profile) -> MeshLinks:
    (segment,) = profile.segments
    return mesh_links(profile, segment, cores(profile, segment))


def test_a_tensor_goes_along_x_then_y_one_link_at_a_time() -> None:
    assert list(route((2, 0, 0, 0), (0, 1, 0, 0))) == [
        ((1, 0, 0, 0), (2, 0, 0, 0)),
        ((0, 0, 0, 0), (1, 0, 0, 0)),
        ((0, 0, 0, 0), (0, 1, 0, 0)),
    ]
    assert not list(route((1, 1, 0, 1), (1, 1, 0, 1)))


def test_without_the_cores_places_there_is_a_reason_and_no_link(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", strategy="tpu", replicas=2, steps=30, windows=0)
    links = mesh_of(strategy_profiles.load(run))
    assert links.links == ()
    assert links.reason


@pytest.mark.run
def test_a_real_run_moves_over_each_axis_what_is_worked_out_by_hand(
    launcher: Launcher, tmp_path: Path
) -> None:
    spec = RunSpec.model_validate(
        {
            "strategy": "tpu",
            "devices": "cpu:4",
            "workload": "digits-mlp",
            "tpu": {"topology": [1, 2, 2, 1]},
            "steps": 12,
        }
    )
    handle = launcher.launch(spec, tmp_path / "run")
    assert handle.wait(MAX_WAIT_S), "the run did not end"
    links = mesh_of(strategy_profiles.load(tmp_path / "run"))
    assert links.reason is None
    assert links.num_unsized == 0
    assert [len(links.of_axis(axis)) for axis in range(4)] == [0, 2, 2, 0]
    # The gradients of 64 * 128 + 128 + 128 * 10 + 10 weights are float32. Three cores send them to
    # the one that adds them, and get the sum. On each axis two of the three are one link away.
    gradients = 4 * 9_610 * 2 * 2
    # Each core sends 8 B of loss and metrics to each other; of 12 pairs, 8 differ on an axis.
    metrics = 8 * 8
    for axis in (1, 2):
        carried = sum(link.bytes for link in links.of_axis(axis))
        # Results that a core returns to the host, and timestamps, are some bytes more.
        assert gradients + metrics <= carried < gradients + metrics + 200
