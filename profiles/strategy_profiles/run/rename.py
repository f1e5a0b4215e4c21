"""Rename a run: its name is that of its folder."""

from __future__ import annotations

from pathlib import Path

from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.manifest import change_run_file
from strategy_profiles.run.remove import check_removable
from strategy_profiles.user_input.text import as_utf8, quoted

LONGEST_NAME_BYTES = 200
"""File systems allow 255; the rest is reserved for prefixes and suffixes."""


def rename_run(run: Path, name: str) -> Path:
    """Rename a run folder and return its new path.

    Raises RunFolderError if the name is invalid or taken, the rename fails, or the run is in use:
    its processes write to it by its path.
    """
    name = name.strip()
    if name == run.name:
        return run
    _check_name(name)
    check_removable(run, "renamed")
    target = run.with_name(name)
    if target.exists() or target.is_symlink():
        raise RunFolderError(f"{target} exists already", advice="Choose another name")
    try:
        run.rename(target)
    except OSError as error:
        raise RunFolderError(
            f"The run folder {run} cannot be renamed: {error.strerror or error}"
        ) from error
    change_run_file(target, {"name": as_utf8(target.resolve().name)})
    return target


def _check_name(name: str) -> None:
    """Raise RunFolderError unless `name` can be the name of a run's folder."""
    is_one_part = Path(name).name == name and "/" not in name and "\\" not in name
    if not name or name.startswith(".") or not is_one_part or not name.isprintable():
        raise RunFolderError(
            f"{quoted(name)} cannot be the name of a run",
            advice="Use printable characters without / and \\, and do not start with a dot",
        )
    if len(name.encode()) > LONGEST_NAME_BYTES:
        raise RunFolderError(
            f"The name has {len(name.encode())} bytes, more than {LONGEST_NAME_BYTES}"
        )
