"""Which runs are of the same program of somebody's own, recorded before?"""

from __future__ import annotations

from pathlib import Path

from strategy_profiles.run.manifest import read_run_file


def earlier_runs(run: Path) -> list[Path]:
    """The runs beside this one of its program that were recorded before, the newest first."""
    own = read_run_file(run)
    if own is None or own.program is None:
        return []
    beside = [path for path in run.resolve().parent.iterdir() if path.name[:1] != "."]
    known = [(path, run_file) for path in beside if (run_file := read_run_file(path))]
    earlier = [
        (run_file.created_ns, path)
        for path, run_file in known
        if run_file.created_ns < own.created_ns and own.program.is_same(run_file.program)
    ]
    return [path for _, path in sorted(earlier, reverse=True)]
