"""A run reads the same with columns of its events, without them, and if either file is damaged."""

from __future__ import annotations

import os
import random
import shutil
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np
import pytest

from strategy_profiles.capture import helper
from strategy_profiles.run import event_columns
from strategy_profiles.run.event_columns import add_columns, read_columns
from strategy_profiles.run.event_files import EventSource, read_sources
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.run.line_checksum import sealed
from strategy_profiles.run.memory_columns import MemoryColumns
from strategy_profiles.run.step_columns import StepColumns
from strategy_profiles.tables.event_tables import memory_table
from tests.synthetic import write_run

Columns: TypeAlias = StepColumns | MemoryColumns
BLOCK_BYTES = 5000
"""Some ten steps of two replicas."""
NUM_STEPS = 60


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose steps but the last are in columns, too."""
    run = write_run(
        tmp_path_factory.mktemp("sound") / "run", replicas=2, steps=NUM_STEPS, windows=1
    )
    add_columns(_events(run), BLOCK_BYTES)
    return run


@pytest.fixture
def run(sound: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sound, tmp_path / "run")


def _events(run: Path) -> Path:
    return worker_folder(run, 0).events


def _columns(run: Path) -> Path:
    return _events(run).with_name("events.columns")


def _read(run: Path) -> EventSource:
    return next(source for source in read_sources(run) if source.worker == 0)


def _read_by_lines(run: Path, tmp_path: Path) -> EventSource:
    """Read a run without its columns."""
    other = shutil.copytree(run, tmp_path / "by-lines")
    _columns(other).unlink(missing_ok=True)
    by_lines = _read(other)
    shutil.rmtree(other)
    return by_lines


def _num_in_columns(run: Path) -> int:
    with _events(run).open("rb") as lines:
        return sum(len(block.steps) for block in read_columns(_events(run), lines))


def _assert_equal(actual: EventSource, expected: EventSource) -> None:
    assert (actual.events, actual.left_out) == (expected.events, expected.left_out)
    assert actual.num_missing == expected.num_missing
    _assert_same_columns(actual.steps, expected.steps)
    _assert_same_columns(actual.memory, expected.memory)


def _assert_same_columns(actual: Columns, expected: Columns) -> None:
    for column in expected.__struct_fields__:
        ours, theirs = (getattr(columns, column) for columns in (actual, expected))
        np.testing.assert_array_equal(ours, theirs)
        if isinstance(theirs, np.ndarray):
            assert ours.dtype == theirs.dtype


def test_steps_in_columns_are_those_of_the_lines(run: Path, tmp_path: Path) -> None:
    assert NUM_STEPS - 15 < _num_in_columns(run) < NUM_STEPS
    _assert_equal(_read(run), _read_by_lines(run, tmp_path))


@pytest.mark.parametrize(
    "recipe",
    [{"marks": False}, {"nan_loss_from": 20}, {"segments": 3, "replicas": 4}],
    ids=["no marks", "no loss", "several segments"],
)
def test_steps_without_a_field_are_the_same(recipe: dict[str, object], tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", **({"replicas": 2, "steps": NUM_STEPS} | recipe))
    add_columns(_events(run), BLOCK_BYTES)
    assert _num_in_columns(run)
    _assert_equal(_read(run), _read_by_lines(run, tmp_path))


def test_any_damage_of_the_columns_leaves_the_numbers(run: Path, tmp_path: Path) -> None:
    expected = _read_by_lines(run, tmp_path)
    path, rng = _columns(run), random.Random(7)
    sound = path.read_bytes()
    for offset in [*range(300), *rng.sample(range(len(sound)), 200)]:
        damaged = bytearray(sound)
        damaged[offset] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        _assert_equal(_read(run), expected)
    for length in rng.sample(range(len(sound)), 50):
        path.write_bytes(sound[:length])
        _assert_equal(_read(run), expected)


def test_any_damage_of_the_lines_is_found_as_without_columns(run: Path, tmp_path: Path) -> None:
    path, rng = _events(run), random.Random(8)
    sound = path.read_bytes()
    for offset in rng.sample(range(len(sound)), 60):
        damaged = bytearray(sound)
        damaged[offset] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        _assert_equal(_read(run), _read_by_lines(run, tmp_path))


@pytest.mark.parametrize(
    ("kind", "name", "row", "value"),
    [
        (StepColumns, "step", 0, -1),
        (StepColumns, "marks_ns", 2, 2**62),
        (StepColumns, "num_marks", 0, -2),
        (StepColumns, "wall_ms", 1, float("nan")),
        (StepColumns, "input_ms", 1, -0.5),
        (StepColumns, "loss", 3, float("inf")),
        (StepColumns, "captured", 0, 7),
        (MemoryColumns, "step", 0, -1),
        (MemoryColumns, "line", 1, -1),
        (MemoryColumns, "bytes_in_use", 0, 2**62),
        (MemoryColumns, "peak_bytes", 0, -2),
        (MemoryColumns, "device", 0, -1),
        (MemoryColumns, "device", 1, 2),
        (MemoryColumns, "source", 0, 1),
    ],
)
def test_a_value_that_no_event_can_have_is_not_used(
    kind: type[Columns], name: str, row: int, value: float, run: Path, tmp_path: Path
) -> None:
    expected = _read_by_lines(run, tmp_path)
    _forge(run, (kind, name), lambda column: column.__setitem__(row, value))
    assert not _num_in_columns(run)
    _assert_equal(_read(run), expected)


def test_another_value_with_correct_checksums_is_read(run: Path) -> None:
    """So the values above are refused because they do not fit, not because the file is damaged."""
    _forge(run, (StepColumns, "wall_ms"), lambda column: column.__setitem__(1, 77.0))
    _forge(run, (MemoryColumns, "peak_bytes"), lambda column: column.__setitem__(1, -1))
    _forge(run, (MemoryColumns, "device"), lambda column: column.__setitem__(1, 0))
    source = _read(run)
    assert source.steps.wall_ms[1] == 77.0
    assert memory_table([source])["peak_bytes"].to_pylist()[:3] == [80_000_000, None, 80_000_000]
    assert source.memory.device[:2].tolist() == [0, 0]


def test_names_that_no_event_can_have_are_not_used(run: Path, tmp_path: Path) -> None:
    expected = _read_by_lines(run, tmp_path)
    name = b"/device:CPU:1"
    with _columns(run).open("rb") as blocks:
        header = event_columns._header(blocks)
        assert header is not None
        body, rest = blocks.read(header.body_bytes), blocks.read()
    for other in (b'/device:CPU"1', b"/device:CPU:\xff", b'",["device:"]'):
        assert len(other) == len(name)
        forged = body.replace(name, other, 1)
        assert forged != body
        changed = msgspec.structs.replace(header, body_crc32=zlib.crc32(forged))
        _columns(run).write_bytes(sealed(msgspec.json.encode(changed)) + b"\n" + forged + rest)
        assert not _num_in_columns(run)
        _assert_equal(_read(run), expected)


def test_blocks_of_another_version_are_not_used_but_replaced(run: Path, tmp_path: Path) -> None:
    expected, sound = _read_by_lines(run, tmp_path), _columns(run).read_bytes()
    with _columns(run).open("rb") as blocks:
        header = event_columns._header(blocks)
        assert header is not None
        rest = blocks.read()
    older = msgspec.structs.replace(header, version=header.version - 1)
    _columns(run).write_bytes(sealed(msgspec.json.encode(older)) + b"\n" + rest)
    assert not _num_in_columns(run)
    _assert_equal(_read(run), expected)
    add_columns(_events(run), BLOCK_BYTES)
    assert _columns(run).read_bytes() == sound


def _forge(run: Path, name: tuple[type, str], change: Callable[[np.ndarray], None]) -> None:
    """Change a column of the first block, and make its checksums those of what it then holds."""
    with _columns(run).open("rb") as blocks:
        header = event_columns._header(blocks)
        assert header is not None
        body, rest = bytearray(blocks.read(header.body_bytes)), blocks.read()
    start = 0
    for column, kind in event_columns._DTYPES.items():
        size = header.bytes_of(column)
        if column == name:
            is_bool = kind == np.bool_
            change(np.frombuffer(body, np.uint8 if is_bool else kind, size // kind.itemsize, start))
        start += size
    header = msgspec.structs.replace(header, body_crc32=zlib.crc32(body))
    _columns(run).write_bytes(sealed(msgspec.json.encode(header)) + b"\n" + body + rest)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("others_bytes", 2**40),
        ("names_bytes", 2**40),
        ("num_steps", 2**22),
        ("num_samples", 2**22),
        ("end", 2**40),
    ],
)
def test_a_sparse_file_that_claims_terabytes_is_not_read(
    field: str, value: int, run: Path, tmp_path: Path
) -> None:
    expected = _read_by_lines(run, tmp_path)
    with _columns(run).open("rb") as blocks:
        header = event_columns._header(blocks)
    assert header is not None
    header = msgspec.structs.replace(header, **{field: value})
    _columns(run).write_bytes(sealed(msgspec.json.encode(header)) + b"\n")
    os.truncate(_columns(run), 2**41)
    began = time.process_time()
    _assert_equal(_read(run), expected)
    assert time.process_time() - began < 1


@pytest.mark.parametrize("kind", ["folder", "pipe", "nothing", "link to nowhere"])
def test_a_file_of_columns_may_be_anything(kind: str, run: Path, tmp_path: Path) -> None:
    expected = _read_by_lines(run, tmp_path)
    path = _columns(run)
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link to nowhere":
        path.symlink_to("nowhere")
    _assert_equal(_read(run), expected)


def test_columns_of_another_run_are_not_used(run: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", replicas=2, steps=NUM_STEPS, seed=9)
    add_columns(_events(other), BLOCK_BYTES)
    expected = _read_by_lines(run, tmp_path)
    shutil.copy(_columns(other), _columns(run))
    assert not _num_in_columns(run)
    _assert_equal(_read(run), expected)


def test_writing_goes_on_behind_a_block_that_was_cut_short(run: Path) -> None:
    path = _columns(run)
    sound = path.read_bytes()
    for length in (len(sound) - 1, len(sound) // 2, 10, 0):
        path.write_bytes(sound[:length])
        add_columns(_events(run), BLOCK_BYTES)
        assert path.read_bytes() == sound


def test_lines_written_later_get_columns_later(run: Path) -> None:
    sound, lines = _columns(run).read_bytes(), _events(run).read_bytes()
    _columns(run).unlink()
    for length in (100, 9000, 23_000, len(lines)):
        _events(run).write_bytes(lines[:length])
        add_columns(_events(run), BLOCK_BYTES)
    assert _columns(run).read_bytes() == sound


def test_no_columns_are_written_of_invalid_lines_and_what_follows(
    run: Path, tmp_path: Path
) -> None:
    _columns(run).unlink()
    lines = _events(run).read_bytes().splitlines(keepends=True)
    lines[30] = b'{"kind":"step"}\n'
    _events(run).write_bytes(b"".join(lines))
    add_columns(_events(run), BLOCK_BYTES)
    assert 0 < _num_in_columns(run) < 30
    _assert_equal(_read(run), _read_by_lines(run, tmp_path))


def test_a_short_run_has_no_columns(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=20)
    add_columns(_events(run))
    assert not _columns(run).exists()


def test_the_converter_writes_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", replicas=4, steps=12_000, windows=0)
    assert not _columns(run).exists()
    folder = worker_folder(run, 0)
    job = helper.Job(0, "no.xplane.pb", None, str(folder.window(0)), 0, 0, [])
    monkeypatch.setattr(helper, "rehearse", lambda: None)
    monkeypatch.setattr(helper, "_lines", lambda: [msgspec.json.encode(job)])
    monkeypatch.setattr(helper.signal, "signal", lambda *_: None)
    helper.main()
    assert "error" in capsys.readouterr().out
    assert _num_in_columns(run) > 5000
