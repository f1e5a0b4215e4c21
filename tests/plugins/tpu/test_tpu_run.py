"""A TPU program on a machine without a TPU: real runs through the launcher, and what they tell."""

from __future__ import annotations

import pytest

import strategy_profiles
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.analysis.cores import cores
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.tables.schema import CATEGORIES
from tests.app.looking import open_page, text_of
from tests.timeouts import MAX_WAIT_S

pytestmark = pytest.mark.run

DELAY_MS = 150.0
"""Far more than what a busy machine takes from one replica and not from the others."""


@pytest.fixture(scope="module")
def run(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> strategy_profiles.Profile:
    """4 replicas of 2 cores, images split over the cores by height, replica 1 slowed down."""
    spec = RunSpec.model_validate(
        {
            "strategy": "tpu",
            "devices": "cpu:8",
            "tpu": {"cores_per_replica": 2, "split_axis": 1},
            "global_batch_size": 64,
            "steps": 25,
            "inject": [{"replica": 1, "ms": DELAY_MS}],
        }
    )
    folder = tmp_path_factory.mktemp("tpu") / "run"
    handle = launcher.launch(spec, folder)
    assert handle.wait(MAX_WAIT_S), "the run did not end"
    assert handle.status == "finished", f"{handle.message}\n{handle.failure_detail}"
    return strategy_profiles.load(folder)


def test_it_trains(run: strategy_profiles.Profile) -> None:
    losses = run.table("steps").column("loss").to_pylist()
    assert len(losses) == 25
    assert losses[-1] < losses[0]


def test_the_delay_is_found_in_its_replica(run: strategy_profiles.Profile) -> None:
    """Medians over the steps: one hiccup of a busy machine is no finding."""
    marks = run.table("marks").to_pandas().query("step > 2")
    own = (marks["compute_ms"] + marks["delay_ms"]).groupby(marks["replica"]).median()
    wait = marks.groupby("replica")["wait_ms"].median()
    others = own.drop(1).median()
    assert own.idxmax() == 1
    assert 0.5 * DELAY_MS < own[1] - others < 3 * DELAY_MS
    assert (wait.drop(1) > 0.5 * DELAY_MS).all()


def test_the_bytes_between_cores_are_those_that_the_cores_sent(
    run: strategy_profiles.Profile,
) -> None:
    """The headline of the page and its table of cores agree; the traced program may have more."""
    found = cores(run, run.segments[0])
    assert found.expansion is not None
    assert found.sent_between_bytes
    assert found.sent_between_bytes == sum(core.sent_bytes or 0.0 for core in found.cores)
    assert found.sent_between_bytes <= sum(found.expansion.moved_bytes.values())


def test_every_core_has_its_place_and_its_work(run: strategy_profiles.Profile) -> None:
    (segment,) = run.segments
    found = cores(run, segment)
    assert len(found.cores) == 8
    assert len({core.device for core in found.cores}) == 8
    assert len({core.coordinates for core in found.cores}) == 8
    assert all(core.num_ops for core in found.cores)
    assert found.num_steps > 0
    for core in found.cores:
        assert (core.phase_ms("compute") or 0) > 0
        parts = [core.phase_ms(phase) or 0 for phase in CATEGORIES]
        assert sum(parts) == pytest.approx(core.phase_ms("wall"))


def test_a_replica_computes_while_any_of_its_cores_does(run: strategy_profiles.Profile) -> None:
    rows = run.sql(
        "select r.compute_ms as whole, max(c.compute_ms) as most, sum(c.compute_ms) as total, "
        "count(*) as num_cores from replica_steps r join core_steps c using (step, replica) "
        "group by step, replica, r.compute_ms"
    ).to_pandas()
    assert not rows.empty
    assert set(rows["num_cores"]) == {2}
    assert (rows["whole"] >= rows["most"] - 1e-6).all()
    assert (rows["whole"] <= rows["total"] + 1e-6).all()


def test_the_split_convolutions_exchange_halos(run: strategy_profiles.Profile) -> None:
    (segment,) = run.segments
    found = cores(run, segment)
    assert found.expansion is not None
    assert found.expansion.partitioned["Conv2D"] >= 8, "two convolutions on four replicas"
    kinds = {item.op for item in found.expansion.collectives}
    assert {"halo-exchange", "all-reduce"} <= kinds


def test_gradients_are_summed_over_all_replicas(run: strategy_profiles.Profile) -> None:
    rows = run.sql("select distinct group_size from collectives where op = 'all-reduce'")
    assert 4 in rows.column("group_size").to_pylist()


def test_halo_exchanges_are_collectives_of_cores_of_one_replica(
    run: strategy_profiles.Profile,
) -> None:
    rows = run.sql(
        "select group_size, replica, bytes, transfer_ms from collectives where op = 'halo-exchange'"
    ).to_pandas()
    assert not rows.empty
    assert set(rows["group_size"]) == {2}
    assert set(rows["replica"]) == {0, 1, 2, 3}
    assert (rows["bytes"] > 0).all()


def test_every_span_of_a_core_has_its_replica(run: strategy_profiles.Profile) -> None:
    (segment,) = run.segments
    assert segment.core_devices is not None
    spans = run.table("spans").to_pandas()
    for replica, devices in enumerate(segment.core_devices):
        for device in devices:
            own = spans[spans["device"] == device]
            assert not own.empty
            assert set(own["replica"]) == {replica}


def test_the_page_shows_every_core(run: strategy_profiles.Profile) -> None:
    page = open_page("cores", run.path.parent, run=run.path.name)
    assert not page.exception
    assert "replicas of" in text_of(page)
    rows = [len(frame.value) for frame in page.dataframe if "core" in frame.value]
    assert rows == [8], "a row per core"
