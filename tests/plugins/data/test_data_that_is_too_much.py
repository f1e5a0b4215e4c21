"""Data that would fill the memory, or never end, are refused before they are read."""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from strategy_profiles.errors import SpecError

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]


@pytest.fixture(autouse=True)
def _small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = psutil.virtual_memory()._replace(available=90_000_000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)


def refused(path: Path) -> str:
    from strategy_core import data

    with pytest.raises(SpecError) as error:
        data.read(str(path))
    return str(error.value)


def test_an_archive_that_decompresses_beyond_memory_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "zeros.npz"
    np.savez_compressed(file, x=np.zeros((500, 10_000)), y=np.zeros(500, np.int64))
    assert file.stat().st_size < 100_000
    assert "zeros.npz takes 0.0 GB" in refused(file)


def test_an_array_shorter_than_its_header_says_is_refused(tmp_path: Path) -> None:
    header = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
    np.lib.format.write_array_header_1_0(header, shape)
    with zipfile.ZipFile(tmp_path / "short.npz", "w") as archive:
        archive.writestr("x.npy", header.getvalue())
        archive.writestr("y.npy", header.getvalue())
    assert "is truncated: its header declares 8,000,000,000,000,000 bytes" in refused(
        tmp_path / "short.npz"
    )


def test_a_table_that_decompresses_beyond_memory_is_refused(tmp_path: Path) -> None:
    zeros = pa.array(np.zeros(3_000_000))
    pq.write_table(pa.table({"a": zeros, "label": zeros}), tmp_path / "zeros.parquet")
    assert (tmp_path / "zeros.parquet").stat().st_size < 100_000
    assert "a third of the 0.1 GB that are free" in refused(tmp_path / "zeros.parquet")


@pytest.mark.parametrize("name", ["large.csv", "large.tfrecord"])
def test_a_file_that_takes_more_than_memory_is_refused(name: str, tmp_path: Path) -> None:
    with (tmp_path / name).open("wb") as file:
        file.truncate(20 << 30)
    assert "takes 85.9 GB in memory" in refused(tmp_path / name)


def png(width: int, height: int) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    check = zlib.crc32(b"IHDR" + head)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + head + struct.pack(">I", check)


def test_an_image_with_too_many_pixels_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kind").mkdir()
    (tmp_path / "kind" / "bomb.png").write_bytes(png(60_000, 60_000))
    assert "bomb.png cannot be read: 60000 x 60000 pixels are more than" in refused(tmp_path)


def test_a_pipe_among_the_images_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kind").mkdir()
    os.mkfifo(tmp_path / "kind" / "pipe.png")
    assert "pipe.png is not a file" in refused(tmp_path)


def test_image_sizes_are_read_from_headers(tmp_path: Path) -> None:
    import tensorflow as tf

    from strategy_data.image_size import image_size

    pixels = tf.zeros((30, 40, 3), tf.uint8)
    files = {
        "a.png": tf.io.encode_png(pixels).numpy(),
        "a.jpg": tf.io.encode_jpeg(pixels).numpy(),
        "a.gif": b"GIF89a" + struct.pack("<HH", 40, 30),
        "a.bmp": b"BM" + bytes(16) + struct.pack("<ii", 40, -30),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        assert image_size(tmp_path / name) == (40, 30), name
    for cut in (b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xc0", b"text"):
        (tmp_path / "cut").write_bytes(cut)
        assert image_size(tmp_path / "cut") is None
