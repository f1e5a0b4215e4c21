"""A pickle in an archive of NumPy's is refused, and runs nothing."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from strategy_profiles.errors import SpecError
from tests.doors.test_no_pickle import Payload, lying_header, made, objects

__all__ = ["made"]


@pytest.mark.tf
@pytest.mark.parametrize("how", ["objects", "lying header", "a pickle that is named npz"])
def test_data_of_ones_own(how: str, made: Path, tmp_path: Path) -> None:
    from strategy_data import npz

    file = tmp_path / "data.npz"
    if how == "objects":
        np.savez(file, x=objects(made), y=np.zeros(1))
    elif how == "lying header":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("x.npy", lying_header(made))
            archive.writestr("y.npy", lying_header(made))
    else:
        file.write_bytes(pickle.dumps(Payload(made)))
    with pytest.raises((SpecError, ValueError)):
        npz.read(file)
    assert not made.exists()
