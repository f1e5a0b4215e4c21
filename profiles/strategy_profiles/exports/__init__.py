"""Exports for other tools, one module per format.

    write(profile, "chrome-trace", Path("run.json.gz"))
    download(profile, "parquet").data
    send(profile, "mlflow", "http://127.0.0.1:5000")

A module of this package that defines a `FORMAT` writes a file or folder; `formats()` finds it.
Packages add others by entry points of the group `strategy_lab.exports`: a `Format`, or a
`Destination`, which sends key numbers to a service. No number is computed here that a page does not
show.
"""

from __future__ import annotations

import errno
import pkgutil
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from strategy_profiles.errors import LabError
from strategy_profiles.exports.destination import Destination
from strategy_profiles.exports.format import Format, StepPage
from strategy_profiles.registered import loaded
from strategy_profiles.tables.store import Profile

_ADVICE = {
    errno.ENOSPC: "Free some space, or export elsewhere",
    errno.EDQUOT: "Free some space, or export elsewhere",
    errno.EFBIG: "Export elsewhere: this is larger than a file may be here",
}


def write_whole(target: Path, produce: Callable[[Path], None]) -> None:
    """Call `produce` with a temporary path beside `target`, then rename the result to `target`.

    `produce` writes a file or a folder. Raises LabError if `target` exists or cannot be written, or
    if the disk is full; the temporary file or folder is then removed.
    """
    try:
        if target.exists() or target.is_symlink():
            raise LabError(
                f"{target} exists already, and an export overwrites no file",
                advice="Choose another path, or remove it first",
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".export-", dir=target.parent))
        try:
            produce(scratch / target.name)
            (scratch / target.name).rename(target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except RecursionError as error:  # `mkdir` calls itself for each missing folder
        raise LabError(
            f"The export cannot be written to a path of {len(target.parts):,} folders",
            advice="Choose another path",
        ) from error
    except (OSError, ValueError) as error:  # ValueError: the path contains a null byte
        number = error.errno if isinstance(error, OSError) else None
        why = (error.strerror if isinstance(error, OSError) else None) or error
        advice = _ADVICE.get(number or 0, "Choose another path")
        raise LabError(f"The export cannot be written to {target}: {why}", advice=advice) from error


__all__ = [
    "Destination",
    "Download",
    "Format",
    "StepPage",
    "destinations",
    "download",
    "formats",
    "send",
    "step_pages",
    "unusable",
    "write",
]


@cache
def formats() -> dict[str, Format]:
    """Return every export format, by name."""
    files = (item for item in pkgutil.iter_modules(__path__) if not item.ispkg)
    modules = [import_module(f"{__name__}.{item.name}") for item in files]
    own = [module.FORMAT for module in modules if hasattr(module, "FORMAT")]
    added = [item for item in _added()[0].values() if isinstance(item, Format)]
    by_name = {item.name: item for item in (*added, *own)}
    return dict(sorted(by_name.items()))


def step_pages() -> dict[str, StepPage]:
    """Return the formats that show a step as a page, by name."""
    return {name: each.step_page for name, each in formats().items() if each.step_page}


@cache
def destinations() -> dict[str, Destination]:
    """Return every service that takes key numbers, by name."""
    added = (item for item in _added()[0].values() if isinstance(item, Destination))
    return {item.name: item for item in sorted(added, key=lambda item: item.name)}


def unusable() -> dict[str, LabError]:
    """Why an export that a package adds cannot be used, by its name."""
    return _added()[1]


@cache
def _added() -> tuple[dict[str, Format | Destination], dict[str, LabError]]:
    return loaded("exports", (Format, Destination))


def send(profile: Profile, destination: str, address: str) -> str:
    """Send the key numbers of `profile` to a service; return where they are now.

    Raises LabError for an unknown destination, if its packages are not installed, if the run has
    no key numbers, or if the service does not take them.
    """
    known = destinations()
    if destination not in known:
        raise LabError(
            f"There is no destination {destination!r}", advice=f"Choose one of {', '.join(known)}"
        )
    chosen = known[destination]
    if chosen.extra is not None:
        chosen.extra.require()
    return chosen.send(profile, address)


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
    """Return the format of that name; raises LabError, which lists the names there are."""
    if name in unusable():
        raise unusable()[name]
    try:
        return formats()[name]
    except KeyError:
        known = ", ".join(formats())
        raise LabError(
            f"There is no export format {name!r}", advice=f"Choose one of {known}"
        ) from None
