"""What the lab knows of this package without its NumPy and PyArrow."""

from __future__ import annotations

from pathlib import Path

from strategy_imports.found_files import SUFFIXES, find_files
from strategy_profiles.importers import Importer


def _write(path: Path, run: Path) -> None:
    from strategy_imports.import_run import import_run

    import_run(path, run)


IMPORTER = Importer(
    reads="an .xplane.pb file, a folder plugins/profile/TIME or the log directory above it (the "
    "newest session), or a trace.json; each may be packed with gzip",
    write=_write,
    ends=("", *SUFFIXES),
    run_name=lambda path: find_files(path).name,
)
