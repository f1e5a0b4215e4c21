"""No pickle is ever loaded: every file of data that can hold one is refused, and runs nothing."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from strategy_profiles.errors import LabError
from strategy_profiles.tables.parquet_file import UnreadableTableError, read_file
from strategy_profiles.tables.schema import TABLES


class Payload:
    """Makes a folder when it is unpickled."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, (str(self.made),)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """What a payload makes; a pickle really does."""
    made = tmp_path / "made"
    pickle.loads(pickle.dumps(Payload(made)))
    made.rmdir()
    return made


def objects(made: Path) -> np.ndarray:
    return np.array([Payload(made)], dtype=object)


def lying_header(made: Path) -> bytes:
    """An array of bytes by its header, whose data is a pickle."""
    told = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        told, {"descr": "|O", "fortran_order": False, "shape": (1,)}
    )
    return told.getvalue() + pickle.dumps(objects(made))


@pytest.mark.tf
@pytest.mark.parametrize("name", ["arr_0", "arr_0.pkl", "other"])
def test_a_saved_state(name: str, made: Path, tmp_path: Path) -> None:
    from strategy_core.training import checkpoint

    (tmp_path / "position.json").write_text(
        '{"step": 1, "examples": 1, "num_segments": 1, "checksum": "x"}'
    )
    with zipfile.ZipFile(tmp_path / "state.npz", "w") as archive:
        data = pickle.dumps(Payload(made)) if name.endswith("pkl") else lying_header(made)
        archive.writestr(f"{name}.npy" if "." not in name else name, data)
    with pytest.raises(LabError):
        checkpoint.load(tmp_path)
    assert not made.exists()


def test_a_table_of_a_run(made: Path, tmp_path: Path) -> None:
    """Arrow's extension types in Python are pickles in the schema of a file."""
    name = "spans"
    metadata = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Payload(made)),
    }
    fields = [field.with_metadata(metadata) for field in TABLES[name]]
    file = tmp_path / "spans.parquet"
    pq.write_table(pa.schema(fields).empty_table(), file)
    with contextlib.suppress(UnreadableTableError):
        read_file(name, file)
    assert not made.exists()
