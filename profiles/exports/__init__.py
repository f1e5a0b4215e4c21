"""Exports for other tools, one module per format.

    write(profile, "chrome-trace", Path("run.json.gz"))
    download(profile, "parquet").data

A module of this package that defines a `FORMAT` is an export; `formats()` finds it.
"""

from __future__ import annotations

import pkgutil
import re
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.exports.format import Format
from strategy_lab.profiles.exports.target import write_whole
from strategy_lab.profiles.tables.store import Profile

__all__ = ["Download", "Format", "download", "formats", "write"]


@cache
def formats() -> dict[str, Format]:
    """Return every export format, by name."""
    modules = [
        import_module(f"{__name__}.{module.name}")
        for module in pkgutil.iter_modules(__path__)
        if not module.ispkg
    ]
    found = [module.FORMAT for module in modules if hasattr(module, "FORMAT")]
    return {item.name: item for item in sorted(found, key=lambda item: item.name)}


def write(profile: Profile, format: str, path: str | Path) -> Path:
    """Write `profile` in `format` to `path`, which must not exist, and return the path.

    Raises LabError for an unknown format, if the path exists or cannot be written, if the disk is
    full, or if the run has no data for this format.
    """
    chosen, target = _find(format), Path(path)
    write_whole(target, lambda scratch: chosen.write(profile, scratch))
    return target


@dataclass(frozen=True, slots=True)
class Download:
    """An export as one file for a browser; a folder becomes a zip file."""

    filename: str
    media_type: str
    data: bytes


def download(profile: Profile, format: str) -> Download:
    """Return the export in memory. Raises the same errors as `write`."""
    chosen = _find(format)
    stem = re.sub(r"[^\w.-]+", "-", profile.path.name).strip("-.") or "run"
    with tempfile.TemporaryDirectory(prefix="strategy-lab-export-") as scratch:
        name = f"{stem}{chosen.suffix}" if chosen.suffix else f"{stem}-{chosen.name}"
        written = write(profile, format, Path(scratch) / name)
        if chosen.is_folder:
            archive = shutil.make_archive(str(written), "zip", root_dir=scratch, base_dir=name)
            written = Path(archive)
        return Download(written.name, chosen.media_type, written.read_bytes())


def _find(name: str) -> Format:
    try:
        return formats()[name]
    except KeyError:
        known = ", ".join(formats())
        raise LabError(
            f"There is no export format {name!r}", advice=f"Choose one of {known}"
        ) from None
