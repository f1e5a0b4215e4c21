"""Messages between TPU slices, written with TensorFlow's own protobuf as XProf's reader has them.

Names and stats are those of openxla/xprof `dcn_utils.cc` and its test. No profile of several real
slices was at hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from tests.plugins.imports.made import START_NS, opened, tpu_profile

pytestmark = pytest.mark.tf

RECEIVE = "MegaScale: Communication Transport Receive"
ENDS = (
    "dcn_source_slice_id",
    "dcn_source_per_slice_device_id",
    "dcn_destination_slice_id",
    "dcn_destination_per_slice_device_id",
)
Message = tuple[str, tuple[int, ...], int, int, int]
"""Label, sender and receiver, bytes, length in us, arrival in ms since the capture began."""
MESSAGES: list[Message] = [
    ("all-reduce.273_312", (1, 0, 0, 0), 32_768, 500, 5),
    ("all-reduce.273_312", (1, 1, 0, 1), 32_768, 700, 6),
    ("all-gather.7_1", (2, 0, 0, 0), 1_000_000, 900, 25),
    ("all-gather.7_1", (0, 1, 0, 0), 5_000, 10, 26),
    ("all-gather.7_1", (1, 0, 0, 0), 5_000, 0, 27),
]
"""Two of the first step and one of the second between slices; one within; one without a length."""


def with_messages(data: bytes, messages: list[Message]) -> bytes:
    """Add messages to the host's plane, as ParseAndAddStatValue writes their stats."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space: Any = xplane_pb2.XSpace.FromString(data)
    plane = next((each for each in space.planes if each.name == "/host:CPU"), None)
    if plane is None:
        plane = space.planes.add(name="/host:CPU")
    plane.event_metadata[900].id, plane.event_metadata[900].name = 900, RECEIVE
    line = plane.lines.add(id=70, name="megascale/70", timestamp_ns=START_NS)

    def stat_id(name: str) -> int:
        for number, known in plane.stat_metadata.items():
            if known.name == name:
                return int(number)
        number = max(plane.stat_metadata, default=500) + 1
        plane.stat_metadata[number].id, plane.stat_metadata[number].name = number, name
        return number

    for label, ends, size, length_us, at_ms in messages:
        event = line.events.add(metadata_id=900, offset_ps=at_ms * 10**9)
        event.stats.add(metadata_id=stat_id("dcn_label"), ref_value=stat_id(label))
        numbers = dict(zip(ENDS, ends, strict=True))
        numbers |= {"payload_size_bytes": size, "duration_us": length_us}
        for name, value in numbers.items():
            event.stats.add(metadata_id=stat_id(name), int64_value=value)
    return bytes(space.SerializeToString())


@pytest.fixture
def profile(tmp_path: Path) -> strategy_profiles.Profile:
    return opened(tmp_path, with_messages(tpu_profile(), MESSAGES))


def test_messages_between_slices_are_transfers_with_ends_and_bytes(
    profile: strategy_profiles.Profile,
) -> None:
    columns = ("step", "tensor", "send_device", "recv_device", "bytes", "duration_ms")
    rows = profile.table("transfers").select(columns).to_pylist()
    own = [tuple(row.values()) for row in rows if row["send_device"].startswith("/slice:")]
    to = "/slice:0/device:TPU"
    assert own == [
        (0, "all-reduce.273_312", "/slice:1/device:TPU:0", f"{to}:0", 32_768, 0.5),
        (0, "all-reduce.273_312", "/slice:1/device:TPU:1", f"{to}:1", 32_768, 0.7),
        (1, "all-gather.7_1", "/slice:2/device:TPU:0", f"{to}:0", 1_000_000, 0.9),
    ]


def test_a_message_began_as_long_before_its_arrival_as_it_took(
    profile: strategy_profiles.Profile,
) -> None:
    starts = profile.table("transfers")["start_ns"].to_pylist()
    assert START_NS + 4_500_000 in starts


def test_the_run_says_which_collectives_cross_slices_and_what_was_left_out(
    profile: strategy_profiles.Profile,
) -> None:
    said = "\n".join(note["message"] for note in profile.summary()["notes"])
    assert (
        "3 messages of collectives between 3 slices (Megascale) arrived on these hosts: "
        "all-gather 1.00 MB and all-reduce 65.5 kB" in said
    )
    assert "1 message between slices without sender, receiver, size or length: not counted" in said


def test_a_profile_without_slices_says_nothing_of_them(tmp_path: Path) -> None:
    run = opened(tmp_path, tpu_profile())
    assert "Megascale" not in "\n".join(note["message"] for note in run.summary()["notes"])
