"""The raw captures of TensorFlow's profiler, in the folder layout that TensorBoard expects.

    FOLDER/plugins/profile/<time of the capture>/<host>.xplane.pb

`tensorboard --logdir FOLDER` and `xprof --logdir FOLDER` open it. Simultaneous captures of several
workers share a folder, as when TensorFlow profiles a cluster.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from strategy_profiles.errors import LabError
from strategy_profiles.exports.format import Format
from strategy_profiles.run.layout import worker_folders
from strategy_profiles.tables.store import Profile

PLUGIN_FOLDER = Path("plugins") / "profile"


def _write(profile: Profile, folder: Path) -> None:
    captures = [
        (worker.worker, path)
        for worker in worker_folders(profile.path)
        for path in sorted((worker.xplane / PLUGIN_FOLDER).glob("*/*.xplane.pb"))
        if _is_own_file(path, profile.path)
    ]
    if not captures:
        raise LabError(
            f"{profile.path} holds no raw captures to export",
            advice="Record with capture.keep_xplane=true, and long enough for a capture window",
        )
    for worker, path in captures:
        target = folder / PLUGIN_FOLDER / path.parent.name / path.name
        if target.exists():  # two workers on one host: the tools read one file per host name
            target = target.with_name(f"worker-{worker}.{path.name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def _is_own_file(path: Path, run: Path) -> bool:
    """Return whether a file is one of the run's: no link out of it, and no pipe or device."""
    return path.is_file() and path.resolve().is_relative_to(run.resolve())


FORMAT = Format(
    name="xplane",
    title="XPlane (TensorBoard, XProf)",
    description="The profiler's raw files: `tensorboard --logdir FOLDER` opens the same run.",
    suffix="",
    media_type="application/zip",
    write=_write,
)
