"""All-reduces on a mesh of TPU chips: arithmetic with known answers, and what is refused."""

from __future__ import annotations

import pytest

import strategy_profiles
from strategy_profiles.run.event_parts import CoreTraffic
from strategy_profiles.run.events import CoresExpanded, SegmentOpened
from strategy_profiles.tables.store import Profile
from strategy_replay.scaling import tpu_mesh
from strategy_replay.scaling.errors import PredictionError
from strategy_replay.scaling.link import Link
from strategy_replay.scaling.tpu_mesh import is_emulated, mesh_of, predict_mesh
from tests.synthetic import write_run

LINK = Link(name="six links", bandwidth_gbps=60.0, bandwidth_source="made up", num_links=6)
"""10 GB/s a link."""
REDUCED = CoreTraffic(op="all-reduce", group_size=2, count=4, bytes=250_000, moved_bytes=None)
"""4 of 250 kB: 1 MB a step."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return strategy_profiles.load(
        write_run(tmp_path_factory.mktemp("tpu") / "run", replicas=2, steps=20)
    )


def predicted(
    recorded: Profile,
    monkeypatch: pytest.MonkeyPatch,
    *,
    traffic: list[CoreTraffic],
    cores_per_replica: int = 1,
    link: Link | None = LINK,
) -> tpu_mesh.MeshPrediction:
    """The prediction of a program with this traffic, one core to a chip."""
    places = [[[0, r, c, 0] for c in range(cores_per_replica)] for r in range(2)]
    mesh = [1, 2, cores_per_replica, 1]
    expansion = CoresExpanded(0, mesh, places, False, {}, {}, [], traffic, {})

    def cores(_profile: Profile, _segment: SegmentOpened) -> object:
        return type("Cores", (), {"expansion": expansion})

    monkeypatch.setattr(tpu_mesh, "cores", cores)
    return predict_mesh(recorded, 0, (1, 2, 64), link)


def test_two_chips_send_their_gradients_over_one_link(
    recorded: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, many = predicted(recorded, monkeypatch, traffic=[REDUCED]).times
    assert (one.low_ms, one.between) == (0.0, "–")
    assert two.mesh == (1, 1, 2)
    assert two.low_ms == two.high_ms == pytest.approx(1e6 / 10e6)
    assert many.mesh == (4, 4, 4)
    moved_ms = 2 * 63 / 64 * 1e6 / 10e6
    assert (many.low_ms, many.high_ms) == pytest.approx((moved_ms / 6, moved_ms / 3))


def test_latency_counts_once_for_each_hop(
    recorded: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = LINK.model_copy(update={"latency_us": 1_000.0, "latency_source": "made up"})
    prediction = predicted(recorded, monkeypatch, traffic=[REDUCED], link=slow)
    bare = predicted(recorded, monkeypatch, traffic=[REDUCED])
    *_, with_latency = prediction.times
    *_, without = bare.times
    num_hops = 2 * 3 * (4 - 1)  # twice along each of three axes of 4 chips
    assert with_latency.low_ms - without.low_ms == pytest.approx(num_hops)
    assert not prediction.notes
    assert "latency of a message is not known" in bare.notes[0]


def test_bytes_of_a_replica_on_several_chips_are_spread_or_on_one(
    recorded: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    prediction = predicted(recorded, monkeypatch, traffic=[REDUCED], cores_per_replica=2)
    two = prediction.times[1]
    assert two.num_chips == 4
    assert two.high_ms == pytest.approx(2 * two.low_ms)


def test_sums_of_unknown_size_and_within_a_replica_are_not_counted(
    recorded: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [
        CoreTraffic(op="all-reduce", group_size=2, count=3, bytes=None, moved_bytes=None),
        CoreTraffic(op="all-reduce", group_size=4, count=9, bytes=8, moved_bytes=8),
    ]
    prediction = predicted(recorded, monkeypatch, traffic=[REDUCED, *others])
    assert prediction.gradient_bytes == 1_000_000
    assert prediction.notes[0] == "3 all-reduces of unknown size are not counted"


def test_a_mesh_prediction_without_its_recording_is_refused(
    recorded: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PredictionError, match=r"a TPU's step does not follow.*--link tpu-v4-ici"):
        predicted(recorded, monkeypatch, traffic=[REDUCED], link=None)
    with pytest.raises(PredictionError, match="recorded no all-reduce between replicas"):
        predicted(recorded, monkeypatch, traffic=[])


def test_only_cores_on_cpus_are_emulated(recorded: Profile) -> None:
    assert not is_emulated(recorded.segments[0])


@pytest.mark.parametrize(
    ("num_chips", "mesh"), [(1, (1, 1, 1)), (16, (2, 2, 4)), (12, (2, 2, 3)), (512, (8, 8, 8))]
)
def test_axes_of_a_mesh_differ_least(num_chips: int, mesh: tuple[int, ...]) -> None:
    assert mesh_of(num_chips, 3) == mesh
