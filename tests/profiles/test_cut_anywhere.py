"""A run cut off at any byte stays readable, and keeps every whole record before the cut."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import strategy_profiles
from strategy_profiles.tables.schema import TABLES
from tests.event_records import read_records
from tests.synthetic import write_run

pytestmark = pytest.mark.slow

EVENTS = "worker-0-0/events.jsonl"
SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(
        tmp_path_factory.mktemp("cut") / "whole",
        steps=16,
        replicas=2,
        windows=1,
        window_steps=3,
        contexts=True,
    )


@pytest.fixture(scope="module")
def cut(whole: Path) -> Path:
    """A copy to be cut again and again."""
    return shutil.copytree(whole, whole.with_name("cut"))


def test_events_cut_at_every_byte_of_three_records(whole: Path, cut: Path) -> None:
    data = (whole / EVENTS).read_bytes()
    middle = data.find(b'{"kind":"step"')
    for keep in range(middle, middle + 900):
        kept = data[:keep]
        (cut / EVENTS).write_bytes(kept)
        event_source = {source.file: source for source in strategy_profiles.load(cut).sources}[
            EVENTS
        ]
        # A record is whole once its closing brace is there, with or without its newline.
        num_whole = kept.count(b"}\n") + (kept.endswith(b"}") and _is_json(kept))
        assert (
            len(event_source.events) + len(event_source.steps) + len(event_source.memory)
            == num_whole
        )


@SETTINGS
@given(share=st.floats(0, 1))
def test_events_cut_anywhere_still_make_a_summary(whole: Path, cut: Path, share: float) -> None:
    data = (whole / EVENTS).read_bytes()
    (cut / EVENTS).write_bytes(data[: int(share * len(data))])
    profile = strategy_profiles.load(cut)
    json.dumps(profile.summary(), allow_nan=False)
    steps = [record for record in read_records(whole / EVENTS) if record["kind"] == "step"]
    assert profile.table("steps")["step"].to_pylist() == [
        record["step"] for record in steps[: profile.table("steps").num_rows]
    ]


@SETTINGS
@given(data=st.data())
def test_parquet_cut_anywhere_is_a_note(whole: Path, cut: Path, data: st.DataObject) -> None:
    (cut / EVENTS).write_bytes((whole / EVENTS).read_bytes())
    file = data.draw(st.sampled_from(sorted(whole.rglob("*.parquet"))))
    content = file.read_bytes()
    keep = data.draw(st.integers(0, len(content) - 1))
    target = cut / file.relative_to(whole)
    target.write_bytes(content[:keep])
    try:
        profile = strategy_profiles.load(cut)
        json.dumps(profile.summary(), allow_nan=False)
        name = file.stem.partition("-")[0]  # placement-000, contexts-000
        assert profile.table(name).num_rows == 0
        assert any("cut off" in note and file.name in note for note in profile.notes)
        assert profile.table("steps").num_rows == 16
    finally:
        target.write_bytes(content)


@SETTINGS
@given(data=st.data())
def test_parquet_with_flipped_bytes_is_read_or_noted(
    whole: Path, cut: Path, data: st.DataObject
) -> None:
    (cut / EVENTS).write_bytes((whole / EVENTS).read_bytes())
    file = data.draw(st.sampled_from(sorted(whole.rglob("*.parquet"))))
    content = file.read_bytes()
    flipped = bytearray(content)
    for offset in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=5)):
        flipped[offset] ^= data.draw(st.integers(1, 255))
    target = cut / file.relative_to(whole)
    target.write_bytes(bytes(flipped))
    try:
        profile = strategy_profiles.load(cut)
        for name, schema in TABLES.items():
            assert profile.table(name).schema == schema
        json.dumps(profile.summary(), allow_nan=False)
    finally:
        target.write_bytes(content)


@SETTINGS
@given(garbage=st.binary(max_size=300), share=st.floats(0, 1))
def test_events_overwritten_anywhere_are_read(
    whole: Path, cut: Path, garbage: bytes, share: float
) -> None:
    data = (whole / EVENTS).read_bytes()
    start = int(share * len(data))
    (cut / EVENTS).write_bytes(data[:start] + garbage + data[start + len(garbage) :])
    json.dumps(strategy_profiles.load(cut).summary(), allow_nan=False)


def _is_json(kept: bytes) -> bool:
    try:
        json.loads(kept.rsplit(b"\n", 1)[-1])
    except ValueError:
        return False
    return True
