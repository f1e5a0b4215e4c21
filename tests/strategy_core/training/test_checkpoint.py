"""Reads checkpoints that came from elsewhere."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (os.mkfifo, "not a file, but a pipe"),
        (lambda file: file.symlink_to("/dev/zero"), "not a file, but a device"),
        (lambda file: file.write_bytes(b"not an archive"), "not a zip file"),
        (lambda file: _packed(file, arr_0=b"no array"), "no array"),
        (lambda file: _packed(file, other=b"no array"), "arr_0"),
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
