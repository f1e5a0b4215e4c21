"""A film shows what was recorded: every moment once, and the recorded times and bytes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import strategy_profiles
from strategy_film import FilmStep, Scene, film_steps, make_scene, usual_step
from strategy_profiles.capture.bandwidth import bus_factor
from strategy_profiles.tables.schema import CATEGORIES
from strategy_profiles.tables.store import Profile
from tests.plugins.leaves import REPOSITORY
from tests.profiles.served_run import PARTS_MS, write_served_run
from tests.synthetic import TWO_HOSTS, write_run

DATA = REPOSITORY / "tests" / "data"
RECORDED = {
    "captured": DATA / "captured_step",
    "mirrored": DATA / "runs_of_0_1_0" / "mirrored",
    "served": DATA / "runs_of_0_1_0" / "served",
}
"""Runs on disk; `captured` is one that TensorFlow ran, with a ring over four devices."""
MS = 1_000_000
RUNS: dict[str, dict[str, Any]] = {
    "one": {"replicas": 1},
    "two": {"replicas": 2},
    "late": {"replicas": 4, "straggler": (2, 30.0)},
    "sixteen": {"replicas": 16, "ops_per_step": 4},
    "central": {"replicas": 4, "strategy": "central-storage"},
    "cores": {"replicas": 2, "strategy": "tpu", "cores_per_replica": 2},
    "workers": TWO_HOSTS | {"straggler": (3, 30.0), "collective_bytes": (2_097_152,)},
    "marks": {"replicas": 2, "workers": 2, "windows": 0},
}


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Profile]:
    folder = tmp_path_factory.mktemp("films")
    made = {
        name: strategy_profiles.load(
            write_run(folder / name, **{"steps": 40, "windows": 1, **options})
        )
        for name, options in RUNS.items()
    }
    return made | {name: strategy_profiles.load(path) for name, path in RECORDED.items()}


def film_of(profile: Profile) -> Scene:
    return make_scene(profile, usual_step(profile, film_steps(profile)))


@pytest.fixture(params=[*RUNS, *RECORDED])
def profile(request: pytest.FixtureRequest, runs: dict[str, Profile]) -> Profile:
    return runs[request.param]


def test_every_moment_of_a_replica_has_exactly_one_state(profile: Profile) -> None:
    scene = film_of(profile)
    for node in scene.nodes:
        if node.replica is None:
            continue
        assert node.states[0].start_ns == 0
        assert node.states[-1].end_ns == scene.length_ns
        assert all(before.end_ns == after.start_ns for before, after in pairwise(node.states))
        assert all(state.end_ns > state.start_ns for state in node.states)


def test_the_phases_add_up_to_the_recorded_ones(profile: Profile) -> None:
    for step in film_steps(profile)[:5]:
        scene = make_scene(profile, step)
        recorded = {row["replica"]: row for row in rows_of(profile, "replica_steps", step)}
        for node in scene.nodes:
            spent: Counter[str] = Counter()
            for state in node.states:
                spent[state.phase] += state.end_ns - state.start_ns
            for phase in CATEGORIES if node.replica in recorded else ():
                expected = recorded[node.replica][f"{phase}_ms"] or 0.0
                assert spent[phase] / 1e6 == pytest.approx(expected, abs=0.02), phase


def rows_of(profile: Profile, table: str, step: FilmStep) -> list[dict[str, Any]]:
    rows = profile.table(table).to_pylist()
    return [row for row in rows if (row["segment"], row["step"]) == (step.segment, step.step)]


def test_every_send_of_the_step_flies_once_with_its_bytes(runs: dict[str, Profile]) -> None:
    profile = runs["central"]
    step = usual_step(profile, film_steps(profile))
    sent_tensors = make_scene(profile, step).sent_tensors
    recorded = rows_of(profile, "transfers", step)
    assert len(sent_tensors) == len(recorded) == 3
    assert sum(sent_tensor.bytes or 0 for sent_tensor in sent_tensors) == sum(
        row["bytes"] for row in recorded
    )
    assert {sent_tensor.sender for sent_tensor in sent_tensors} == {0}


def test_a_real_capture_flies_what_it_sent(runs: dict[str, Profile]) -> None:
    profile = runs["captured"]
    step = usual_step(profile, film_steps(profile))
    scene = make_scene(profile, step)
    recorded = [
        row for row in rows_of(profile, "transfers", step) if row["duration_ms"] is not None
    ]
    assert recorded
    assert len(scene.sent_tensors) == len(recorded)
    assert sum(sent_tensor.bytes or 0 for sent_tensor in scene.sent_tensors) == sum(
        row["bytes"] or 0 for row in recorded
    )


def test_a_real_capture_shows_its_ring(runs: dict[str, Profile]) -> None:
    scene = film_of(runs["captured"])
    assert (scene.layout, len(scene.nodes)) == ("ring", 4)
    ring = [exchange for exchange in scene.exchanges if exchange.ring]
    assert [(each.op, each.bytes, each.ring and each.ring.rounds) for each in ring] == [
        ("all-reduce", 94_920, 6)
    ]
    last = ring[0].last
    assert any(text.startswith(f"Replica {last} is ") for _, text in scene.captions)
    assert {state.phase for state in scene.nodes[last].states} >= {"compute", "input", "transfer"}
    assert "Conv2D" in {scene.names[op.name] for op in scene.nodes[last].ops}


def test_the_rounds_of_a_ring_move_the_ring_share(runs: dict[str, Profile]) -> None:
    scene = film_of(runs["late"])
    assert [exchange.bytes for exchange in scene.exchanges] == [2_097_152, 262_144]
    for exchange in scene.exchanges:
        assert exchange.ring is not None
        assert exchange.ring.rounds == 6
        moved = exchange.ring.rounds * (exchange.ring.hop_bytes or 0)
        assert moved == pytest.approx((bus_factor(exchange.op, 4) or 0) * (exchange.bytes or 0))


def test_the_critical_path_runs_through_the_late_replica(runs: dict[str, Profile]) -> None:
    scene = film_of(runs["late"])
    assert sum(piece.end_ns - piece.start_ns for piece in scene.path) == scene.length_ns
    spent: defaultdict[int, int] = defaultdict(int)
    for start, end, node in scene.path:
        spent[node] += end - start
    assert max(spent, key=spent.__getitem__) == 2
    at = scene.exchanges[0].all_entered_ns
    assert next(p.node for p in scene.path if p.start_ns < at <= p.end_ns) == 2


def test_the_caption_names_the_late_replica_and_who_waits(runs: dict[str, Profile]) -> None:
    scene = film_of(runs["late"])
    caption = [text for start, text in scene.captions if start <= scene.poster_ns][-1]
    assert caption.startswith("Replica 2 is ")
    assert caption.endswith("ms late: replicas 0, 1 and 3 wait in the all-reduce of 2.10 MB.")


def test_workers_share_one_film_and_their_clock(runs: dict[str, Profile]) -> None:
    scene = film_of(runs["workers"])
    assert scene.layout == "rows"
    assert scene.groups == ("worker 0", "worker 1")
    replicas = [node for node in scene.nodes if node.replica is not None]
    assert [node.source for node in replicas] == ["measured", "measured", "marks", "marks"]
    (exchange,) = scene.exchanges
    assert len(exchange.members) == 4
    assert exchange.last == 3
    assert 20 * MS < exchange.all_entered_ns - exchange.first_entered_ns < 45 * MS


def change_transfers(run: Path, change: Callable[[str], tuple[str, str] | None]) -> None:
    """Give every transfer the sender and receiver that `change` returns for its sender, or none."""
    for file in run.glob("worker-*/window-*/transfers.parquet"):
        rows = pq.read_table(file)
        changed_rows = [(row, change(row["send_device"])) for row in rows.to_pylist()]
        kept = [
            {**row, "send_device": ends[0], "recv_device": ends[1]}
            for row, ends in changed_rows
            if ends
        ]
        pq.write_table(pa.Table.from_pylist(kept, schema=rows.schema), file)


def test_a_host_is_beside_the_replicas_of_its_worker(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=4, workers=2, steps=40, windows=1)
    change_transfers(run, lambda sender: (sender, f"{sender.rpartition('/')[0]}/device:XLA:0"))
    scene = film_of(strategy_profiles.load(run))
    groups = {node.device: node.group for node in scene.nodes if node.replica is None}
    assert groups == {"worker 0 XLA:0": 0, "worker 1 XLA:0": 1}


def test_what_one_replica_alone_exchanges_data_with_is_the_hub(tmp_path: Path) -> None:
    options: dict[str, Any] = {"replicas": 4, "steps": 40, "windows": 1}
    run = write_run(tmp_path / "run", **options, missing=("collectives",))
    host = "/job:localhost/replica:0/task:0/device:GPU:0"
    change_transfers(run, lambda sender: (sender, host) if sender.endswith("CPU:1") else None)
    scene = film_of(strategy_profiles.load(run))
    assert scene.layout == "hub"
    assert scene.hub is not None
    assert scene.nodes[scene.hub].device == "GPU:0"


def test_servers_pull_and_push_their_bytes(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_served_run(tmp_path / "run"))
    steps = film_steps(profile)
    step = next(item for item in steps if item.wall_ms == pytest.approx(sum(PARTS_MS[2])))
    scene = make_scene(profile, step)
    assert scene.layout == "servers"
    assert [node.title for node in scene.nodes] == ["worker 0", "worker 1", "parameter server 0"]
    served = profile.table("served").to_pylist()
    own = [
        sent_tensor
        for sent_tensor in scene.sent_tensors
        if 1 in (sent_tensor.sender, sent_tensor.receiver)
    ]
    pulled, pushed = (sum(row[f"{part}_bytes"] or 0 for row in served) for part in ("pull", "push"))
    whole = [f for f in own if f.start_ns >= 0 and f.end_ns <= scene.length_ns]
    assert {(f.sender, f.bytes) for f in whole} == {(2, pulled), (1, pushed)}


def test_a_run_without_captures_has_no_film(tmp_path: Path) -> None:
    bare = strategy_profiles.load(write_run(tmp_path / "bare", steps=10, windows=0))
    assert film_steps(bare) == ()
