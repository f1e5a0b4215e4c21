"""A profile above 4 GiB, whose positions need more than 32 bits; protobuf refuses one above 2 GB.

The file has a hole in the place of a program, so that it takes a few kB of the disk.
"""

from __future__ import annotations

from pathlib import Path

import strategy_profiles
from strategy_profiles.importers import import_profile
from strategy_profiles.run.events import Note
from tests.plugins.imports.made import gpu_profile
from tests.profiles.capture.xspace_builder import integer, message, varint

HOLE_BYTES = 4 << 30
TABLES = ("steps", "replica_steps", "collectives", "transfers", "spans")


def write_large(path: Path, after: bytes) -> None:
    """Write the plane of programs with one of `HOLE_BYTES`, and then `after`."""
    names = message(5, integer(1, 1) + message(2, integer(1, 1) + message(2, b"Hlo Proto")))
    begin, length = b"", HOLE_BYTES
    # From the program outwards: its stat, its entry's metadata, the entry, the plane.
    for number, before in (
        (6, integer(1, 1)),
        (5, b""),
        (2, integer(1, 7)),
        (4, message(2, b"/host:metadata") + names),
        (1, b""),
    ):
        begin = before + varint(number << 3 | 2) + varint(length) + begin
        length = len(begin) + HOLE_BYTES
    with path.open("wb") as file:
        file.write(begin)
        file.seek(HOLE_BYTES, 1)
        file.write(after)


def test_planes_beyond_4_gib_are_read_as_in_a_small_file(tmp_path: Path) -> None:
    small, large = tmp_path / "small.xplane.pb", tmp_path / "large.xplane.pb"
    small.write_bytes(gpu_profile())
    write_large(large, gpu_profile())
    assert large.stat().st_size > HOLE_BYTES
    expected = strategy_profiles.load(import_profile(small, tmp_path / "a"))
    imported = strategy_profiles.load(import_profile(large, tmp_path / "b"))
    notes = [note.message for note in imported.events(Note)]
    assert not any("damaged" in note or "cut off" in note for note in notes)
    for table in TABLES:
        assert imported.table(table).equals(expected.table(table)), table
    assert len(imported.table("steps")) == 4


def test_a_large_file_that_is_cut_off_has_what_came_before(tmp_path: Path) -> None:
    path = tmp_path / "cut.xplane.pb"
    write_large(path, gpu_profile())
    with path.open("rb+") as file:
        file.truncate(path.stat().st_size - 200)
    imported = strategy_profiles.load(import_profile(path, tmp_path / "run"))
    assert imported.table("spans").num_rows > 0
