"""The wheel as people install it: `uvx --from WHEEL`, `uv tool install` and `pipx install`, from an
empty folder, without an index."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import requests

from tests import lab_access
from tests.installing.built_wheel import VERSION
from tests.installing.stand_in_wheels import write_stand_ins
from tests.server_process import server_process

pytestmark = pytest.mark.run


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that an installer takes its packages from."""
    folder = tmp_path_factory.mktemp("packages")
    write_stand_ins(folder)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of a user who has installed nothing yet."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("UV_", "PIP"))}
    kept.pop("PYTHONPATH", None)
    own = {
        "HOME": tmp_path / "home",
        "UV_CACHE_DIR": tmp_path / "uv-cache",
        "UV_TOOL_DIR": tmp_path / "uv-tools",
        "UV_TOOL_BIN_DIR": tmp_path / "bin",
        "PIPX_HOME": tmp_path / "pipx",
        "PIPX_BIN_DIR": tmp_path / "bin",
        "PIPX_DISABLE_SHARED_LIBS_AUTO_UPGRADE": "1",  # of its own pip, from an index
    }
    return kept | {name: str(path) for name, path in own.items()} | {"UV_OFFLINE": "1"}


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def examined(command: Sequence[str | Path], environment: Mapping[str, str], folder: Path) -> None:
    """Check that the lab of this command is the wheel's, and can train."""
    for arguments, said in ((["--version"], VERSION), (["devices", "--json"], '"available": true')):
        done = subprocess.run(
            [*command, *arguments],
            env=environment,
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert said in done.stdout
    assert not any(folder.iterdir())


@pytest.mark.long
def test_uvx_runs_the_lab_and_its_page_from_the_wheel_alone(
    wheel: zipfile.ZipFile, packages: Path, home: dict[str, str], empty: Path, tmp_path: Path
) -> None:
    uvx = [sys.executable, "-m", "uv", "tool", "run", "--no-index", "--find-links", str(packages)]
    command = [*uvx, "--python", sys.executable, "--from", f"{wheel.filename}[all]", "strategy-lab"]
    examined(command, home, empty)
    environment = lab_access.environment() | home
    with server_process(
        tmp_path / "log",
        "--no-browser",
        program=[*command, "ui"],
        folder=empty,
        environment=environment,
    ) as lab:
        page = requests.get(f"{lab.url}/", headers=lab_access.HEADERS, timeout=60)
        assert page.ok
        script = requests.get(
            f"{lab.url}/frontend/shared/dom.js", headers=lab_access.HEADERS, timeout=60
        )
        assert script.ok


@pytest.mark.long
def test_pipx_installs_a_command_that_works(
    wheel: zipfile.ZipFile, packages: Path, home: dict[str, str], empty: Path, tmp_path: Path
) -> None:
    source = f"--no-index --find-links {packages}"
    pipx = [sys.executable, "-m", "pipx", "install", "--quiet", "--backend", "pip"]
    pipx += ["--python", sys.executable]
    subprocess.run(
        [*pipx, f"--pip-args={source}", f"{wheel.filename}[all]"], env=home, cwd=empty, check=True
    )
    examined([tmp_path / "bin" / "strategy-lab"], home, empty)
