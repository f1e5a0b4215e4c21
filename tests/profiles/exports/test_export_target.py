"""An export is there whole, or not at all; every obstacle is explained."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from strategy_profiles.errors import LabError
from strategy_profiles.exports import write_whole


def test_a_file_is_renamed_into_place(target: Path) -> None:
    write_whole(target, lambda path: path.write_text("all of it"))
    assert target.read_text() == "all of it"
    assert list(target.parent.iterdir()) == [target]


def test_missing_folders_on_the_way_are_made(tmp_path: Path) -> None:
    write_whole(tmp_path / "a" / "b", lambda path: path.mkdir())
    assert (tmp_path / "a" / "b").is_dir()


@pytest.mark.parametrize(
    "make", [lambda p: p.touch(), lambda p: p.mkdir(), lambda p: p.symlink_to("x")]
)
def test_an_export_overwrites_no_file(target: Path, make) -> None:
    make(target)
    with pytest.raises(LabError, match="an export overwrites no file"):
        write_whole(target, lambda path: path.write_text("new"))


def test_a_path_below_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LabError, match=r"cannot be written to .*Choose another path"):
        write_whole(tmp_path / "file" / "export", lambda path: path.touch())


def test_a_path_of_too_many_folders_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"cannot be written to a path of 2,\d+ folders"):
        write_whole(Path(tmp_path, *["x"] * 2_000), lambda path: path.touch())


def test_a_read_only_folder_is_refused() -> None:
    # Not even root: a folder of the kernel's.
    with pytest.raises(LabError, match="cannot be written to"):
        write_whole(Path("/proc/export"), lambda path: path.touch())


def test_a_full_disk_leaves_nothing_behind(target: Path) -> None:
    def produce(path: Path) -> None:
        path.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(LabError, match=r"cannot be written to .*No space left.*Free some space"):
        write_whole(target, produce)
    assert list(target.parent.iterdir()) == []


def test_a_failure_of_the_format_leaves_nothing_behind(target: Path) -> None:
    def produce(path: Path) -> None:
        path.mkdir()
        (path / "first").touch()
        raise LabError("This run has no captures")

    with pytest.raises(LabError, match="has no captures"):
        write_whole(target, produce)
    assert list(target.parent.iterdir()) == []


_TOO_LARGE = """
import resource, signal, sys
from pathlib import Path
from strategy_profiles.errors import LabError
from strategy_profiles.exports import write_whole
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_whole(Path(sys.argv[1]), lambda path: path.write_bytes(bytes(5000)))
except LabError as error:
    print(error)
"""


def test_a_real_refusal_by_the_system_is_explained(target: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _TOO_LARGE, str(target)], capture_output=True, text=True, check=True
    )
    assert "larger than a file may be here" in done.stdout
    assert list(target.parent.iterdir()) == []
