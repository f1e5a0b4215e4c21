"""A packed run opens again; what a stranger may put into a ZIP file is refused in a sentence."""

from __future__ import annotations

import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.errors import LabError
from strategy_profiles.importers import import_profile
from tests.synthetic import write_run


@pytest.mark.parametrize("keeps_folder", [True, False])
def test_a_packed_run_opens_under_its_name(*, keeps_folder: bool, tmp_path: Path) -> None:
    run = write_run(tmp_path / "from" / "tuesday", steps=20, windows=1)
    top = {"root_dir": run.parent, "base_dir": run.name} if keeps_folder else {"root_dir": run}
    packed = shutil.make_archive(str(tmp_path / "tuesday"), "zip", **top)
    runs = tmp_path / "runs"
    imported = import_profile(Path(packed), runs=runs)
    assert imported == runs / "tuesday"
    was = strategy_profiles.load(run).summary()
    assert strategy_profiles.load(imported).summary() == was | {"path": str(imported)}
    assert import_profile(Path(packed), runs=runs) == runs / "tuesday-2"
    assert {path.name for path in runs.iterdir()} == {"tuesday", "tuesday-2"}


def _bomb(file: Path) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        packed.writestr("run.json", bytes(80 << 20))


def _climber(file: Path) -> None:
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("../outside.txt", "x")


def _encrypted(file: Path) -> None:
    _pack_one_file(file, "run.json", "{}")
    content = bytearray(file.read_bytes())
    directory = content.index(b"PK\x01\x02")
    for flags in (6, directory + 8):
        content[flags : flags + 2] = struct.pack("<H", 1)
    file.write_bytes(content)


def _pack_one_file(file: Path, name: str, text: str) -> None:
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr(zipfile.ZipInfo(name), text)


def _pack_by_lzma(file: Path) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as packed:
        packed.writestr("run.json", "x" * 1000)
    content = bytearray(file.read_bytes())
    content[42] = 0xFF  # the properties of LZMA, behind the header and four bytes of their own
    file.write_bytes(content)


def _no_text_as_a_name(file: Path) -> None:
    _pack_one_file(file, "é.json", "{}")
    file.write_bytes(file.read_bytes().replace("é".encode(), b"\xff\xff"))


def _a_file_as_a_folder(file: Path) -> None:
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("a", "x")
        packed.writestr("a/b", "x")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda file: file.write_bytes(b"PK\x03\x04 and no more"), "no ZIP file"),
        (_bomb, "more bytes than a recorded run has"),
        (_climber, "outside of its folder"),
        (_encrypted, "encrypted"),
        (_a_file_as_a_folder, "cannot be written"),
        (_pack_by_lzma, "damaged"),
        (_no_text_as_a_name, "damaged"),
        (lambda file: _pack_one_file(file, ".", "x"), "no name"),
        (lambda file: _pack_one_file(file, "", "x"), "no name"),
        (lambda file: _pack_one_file(file, f"{'a/' * 900}x", "x"), "in over 100 folders"),
        (lambda file: _pack_one_file(file, "run.json", "{"), "damaged run.json"),
        (lambda file: _pack_one_file(file, "notes.txt", "no run"), "run"),
    ],
)
def test_what_is_no_packed_run_is_refused_and_leaves_nothing(
    make: Callable[[Path], None], said: str, tmp_path: Path
) -> None:
    file, runs = tmp_path / "it.zip", tmp_path / "runs"
    make(file)
    with pytest.raises(LabError, match=said):
        import_profile(file, runs=runs)
    assert list(runs.iterdir()) == []
    assert not (tmp_path / "outside.txt").exists()
