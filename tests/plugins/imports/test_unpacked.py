"""Gzip files of any size and shape, unpacked within limits."""

from __future__ import annotations

import gzip
import tempfile
import time
from pathlib import Path

import pytest

from strategy_core.processes import scratch
from strategy_imports import unpacked as module
from strategy_imports.unpacked import unpacked


def _unpack(folder: Path, packed: bytes, most_bytes: int = 1 << 30) -> tuple[bytes, str | None]:
    file = folder / "file.gz"
    file.write_bytes(packed)
    with unpacked(file, most_bytes) as unpacked_file:
        return unpacked_file.path.read_bytes(), unpacked_file.problem


def test_a_file_of_many_parts_is_whole(tmp_path: Path) -> None:
    parts = [bytes([number % 256]) * (number * 7 % 5_000) for number in range(400)]
    packed = b"".join(gzip.compress(part) for part in parts)
    assert _unpack(tmp_path, packed) == (b"".join(parts), None)


def test_a_small_file_that_unpacks_to_much_is_cut(tmp_path: Path) -> None:
    content, problem = _unpack(tmp_path, gzip.compress(bytes(50 << 20)), most_bytes=1 << 20)
    assert 1 << 20 < len(content) <= 2 << 20
    assert problem is not None
    assert "are read" in problem


def test_endless_parts_that_hold_nothing_are_not_all_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_PARTS", 100)
    packed = gzip.compress(b"first") + gzip.compress(b"") * 98
    assert _unpack(tmp_path, packed + gzip.compress(b"last")) == (b"firstlast", None)
    content, problem = _unpack(tmp_path, packed + gzip.compress(b"") + gzip.compress(b"last"))
    assert content == b"first"
    assert problem == "Only the first 100 parts of the gzip file are read"


def test_a_file_that_unpacks_to_far_more_than_a_profile_does_is_cut(tmp_path: Path) -> None:
    content, problem = _unpack(tmp_path, gzip.compress(bytes(100 << 20)))
    assert 64 << 20 < len(content) < 70 << 20
    assert problem is not None
    assert "more than 200 times its size" in problem


def test_an_unpacked_file_stays_until_its_process_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    packed = tmp_path / "profile.gz"
    packed.write_bytes(gzip.compress(b"events"))
    later = time.time() + 3600
    with unpacked(packed) as unpacked_file:
        assert scratch.remove_abandoned(tmp_path, now=later) == []
        left = tmp_path / f"{scratch.IMPORT_PREFIX}of-a-killed-process"
        left.write_bytes(unpacked_file.path.read_bytes())
        assert scratch.remove_abandoned(tmp_path, now=later) == [left]
        assert unpacked_file.path.exists()
    assert list(tmp_path.iterdir()) == [packed]
