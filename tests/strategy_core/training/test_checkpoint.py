"""Reads checkpoints that came from elsewhere."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from strategy_profiles.errors import LabError

pytestmark = pytest.mark.tf


def _packed(file: Path, **members: bytes) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)


def _encrypted(file: Path) -> None:
    """Mark the members of an archive as encrypted, in both of its headers."""
    _packed(file, arr_0=b"no array")
    content = bytearray(file.read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(header) + flags] |= 1
    file.write_bytes(content)


def _huge(file: Path) -> None:
    header = io.BytesIO()
    shape = {"descr": "<f4", "fortran_order": False, "shape": (1 << 58,)}
    np.lib.format.write_array_header_1_0(header, shape)
    _packed(file, arr_0=header.getvalue())


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (os.mkfifo, "not a file, but a pipe"),
        (lambda file: file.symlink_to("/dev/zero"), "not a file, but a device"),
        (lambda file: file.write_bytes(b"not an archive"), "not a zip file"),
        (lambda file: _packed(file, arr_0=b"no array"), "no array"),
        (lambda file: _packed(file, other=b"no array"), "arr_0"),
        (_encrypted, "encrypted"),
        (_huge, "allocate"),
    ],
)
def test_a_checkpoint_from_elsewhere_is_refused_with_the_reason(
    tmp_path: Path, damage: Callable[[Path], object], why: str
) -> None:
    from strategy_core.training import checkpoint, state

    path, kept = tmp_path / "checkpoint", [np.ones(3, np.float32)]
    checkpoint.save(path, checkpoint.Checkpoint(kept, 3, 8, 1, state.checksum(kept)))
    (path / "state.npz").unlink()
    damage(path / "state.npz")
    with pytest.raises(LabError, match=rf"cannot be read: .*{why}"):
        checkpoint.load(path)


def test_a_checkpoint_that_does_not_fit_into_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from strategy_core.training import checkpoint, state

    path, kept = tmp_path / "checkpoint", [np.ones(3000, np.float32)]
    checkpoint.save(path, checkpoint.Checkpoint(kept, 3, 8, 1, state.checksum(kept)))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=10_000))
    with pytest.raises(LabError, match=r"12,128 bytes, and 10,000 of memory are free"):
        checkpoint.load(path)
