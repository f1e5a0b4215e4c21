"""Sums of an import against TensorFlow's own reader of the same file, which shares no code with it.

Two files of real GPUs and one of a real TPU are too large for the repository: they are looked for
in the folder `shared/xplanes` beside the checkout.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.capture import xspace
from strategy_profiles.capture.launches import launching_calls
from strategy_profiles.importers import import_profile
from tests.plugins.imports.made import gpu_profile, tpu_profile

pytestmark = pytest.mark.tf

XPLANES = Path(__file__).parent / "data"
RECORDED = ("gpu_gemm", "tpu_psum")
_EXECUTED = re.compile(r"Stream #|(Async )?XLA Ops$")
Sums = dict[tuple[str, int, str], float]


def sums_by_tensorflow(path: Path) -> Sums:
    """Nanoseconds by device, line and what ran, as TensorFlow's protobuf reader finds them."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace.FromString(path.read_bytes())
    sums: Sums = defaultdict(float)
    for plane in space.planes:
        for line in plane.lines:
            if not plane.name.startswith("/device:") or not _EXECUTED.match(line.name):
                continue
            for event in line.events:
                kind = plane.event_metadata[event.metadata_id]
                text, equals, _ = kind.name.partition(" = ")
                ran = text.removeprefix("%") if equals else (kind.display_name or kind.name)
                sums[plane.name, line.id, ran[:4096]] += event.duration_ps / 1e3
    return sums


def sums_by_import(path: Path, run: Path) -> Sums:
    profile = strategy_profiles.load(import_profile(path, run))
    sums: Sums = defaultdict(float)
    for row in profile.table("spans").to_pylist():
        if row["clock"] == "device" and row["category"] != "wait":
            sums[row["device"], row["thread"], row["op"]] += row["duration_ns"]
    return sums


def assert_same(path: Path, run: Path) -> None:
    theirs, ours = sums_by_tensorflow(path), sums_by_import(path, run)
    assert ours.keys() == theirs.keys()
    assert theirs, "the file has no device"
    for key, expected in theirs.items():
        # A table has whole nanoseconds: what runs for 1 ns may be off by as much.
        assert ours[key] == pytest.approx(expected, rel=1e-3, abs=100), key
    for part in (0, 1):
        for name in {key[part] for key in theirs}:
            ours_of = sum(value for key, value in ours.items() if key[part] == name)
            theirs_of = sum(value for key, value in theirs.items() if key[part] == name)
            assert ours_of == pytest.approx(theirs_of, rel=1e-3, abs=100), name


@pytest.mark.parametrize("name", RECORDED)
def test_sums_of_a_recorded_file_are_tensorflows(name: str, tmp_path: Path) -> None:
    assert_same(XPLANES / f"{name}.xplane.pb", tmp_path / "run")


@pytest.mark.parametrize("data", [gpu_profile(), tpu_profile()], ids=["gpu", "tpu"])
def test_sums_of_a_made_file_are_tensorflows(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "made.xplane.pb").write_bytes(data)
    assert_same(tmp_path / "made.xplane.pb", tmp_path / "run")


@pytest.mark.parametrize("name", RECORDED)
def test_the_reader_of_captures_finds_the_same(name: str) -> None:
    path = XPLANES / f"{name}.xplane.pb"
    columns = xspace.decode(path.read_bytes())
    sums: dict[tuple[str, int], float] = defaultdict(float)
    expected: dict[tuple[str, int], float] = defaultdict(float)
    for (plane, thread, _), length in sums_by_tensorflow(path).items():
        expected[plane, thread] += length
    launches = columns.events(xspace.LAUNCH)
    for plane, each in columns.device_events.items():
        events = each.events
        for thread, length in zip(events.thread, events.end_ns - events.start_ns, strict=True):
            sums[f"/device:{plane}", int(thread)] += int(length)
        call = launching_calls(events.key, launches.key)
        if len(launches):
            assert (launches.start_ns[call] < events.start_ns).all()
            assert (call >= 0).all()
    assert sums == pytest.approx(expected, rel=1e-3, abs=1000)
    assert bool(len(launches)) == name.startswith("gpu")
