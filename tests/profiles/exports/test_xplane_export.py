"""XPlane: the layout that TensorBoard's profile plugin and XProf read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.errors import LabError
from strategy_profiles.exports import write
from strategy_profiles.run.layout import worker_folder
from tests.synthetic import write_run


def _keep(run: Path, worker: int, window: str, host: str, data: bytes) -> None:
    folder = worker_folder(run, worker).xplane / "plugins" / "profile" / window
    folder.mkdir(parents=True)
    (folder / f"{host}.xplane.pb").write_bytes(data)


def test_captures_are_copied_as_they_are(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=30)
    _keep(run, 0, "window_000000", "host", b"first")
    _keep(run, 0, "window_000001", "host", b"second")
    out = write(strategy_profiles.load(run), "xplane", tmp_path / "logdir")
    files = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*.pb")}
    assert files == {
        "plugins/profile/window_000000/host.xplane.pb": b"first",
        "plugins/profile/window_000001/host.xplane.pb": b"second",
    }


def test_two_workers_on_one_host_keep_both_files(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, workers=2, steps=30)
    _keep(run, 0, "window_000000", "host", b"worker 0")
    _keep(run, 1, "window_000000", "host", b"worker 1")
    out = write(strategy_profiles.load(run), "xplane", tmp_path / "logdir")
    files = {path.name: path.read_bytes() for path in out.rglob("*.pb")}
    assert files == {"host.xplane.pb": b"worker 0", "worker-1.host.xplane.pb": b"worker 1"}


def test_what_a_link_leads_to_outside_of_the_run_is_not_copied(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=30)
    _keep(run, 0, "window_000000", "host", b"first")
    captured = worker_folder(run, 0).xplane / "plugins" / "profile" / "window_000000"
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.xplane.pb").write_bytes(b"of the owner")
    (captured / "key.xplane.pb").symlink_to(tmp_path / "secret" / "key.xplane.pb")
    (captured / "endless.xplane.pb").symlink_to("/dev/zero")
    os.mkfifo(captured / "pipe.xplane.pb")
    (captured.parent / "window_000001").symlink_to(tmp_path / "secret")
    out = write(strategy_profiles.load(run), "xplane", tmp_path / "logdir")
    assert [path.read_bytes() for path in out.rglob("*.pb")] == [b"first"]


def test_a_run_without_captures_says_how_to_keep_them(straggling, target: Path) -> None:
    with pytest.raises(LabError, match=r"raw captures.*capture\.keep_xplane=true"):
        write(straggling, "xplane", target)
    assert not target.exists()
