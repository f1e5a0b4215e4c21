"""The wheel holds everything that an installed lab needs: code, browser files, types, licences."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import strategy_core
from strategy_core.cli.main import main
from tests.dockerfile_steps import REPOSITORY
from tests.test_dockerfile import instructions

HOMES = {
    "app": "strategy_lab/app",
    "profiles": "strategy_lab/profiles",
    "strategy_core": "strategy_core",
}
"""Folders of the repository, and where a wheel has them."""
SHIPPED = {".py", ".js", ".css", ".html", ".svg", ".toml", ".png", ".txt"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Built from a copy of what the Dockerfile copies: a build leaves files in its source."""
    source = tmp_path_factory.mktemp("source")
    for line in instructions("COPY"):
        for name in line.split()[:-1]:
            origin = REPOSITORY / name
            if origin.is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(origin, source / name, symlinks=True, ignore=ignored)
            else:
                shutil.copy(origin, source)
    target = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", target, source], check=True)
    (built,) = target.glob("*.whl")
    return zipfile.ZipFile(built)


@pytest.mark.slow
def test_a_wheel_has_every_file_of_the_packages(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    for folder, home in HOMES.items():
        files = [path for path in (REPOSITORY / folder).rglob("*") if path.suffix in SHIPPED]
        assert len(files) > 20
        expected = {f"{home}/{path.relative_to(REPOSITORY / folder).as_posix()}" for path in files}
        assert expected <= names, sorted(expected - names)


@pytest.mark.slow
def test_a_wheel_is_typed_and_has_its_licences(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    for package in ("strategy_core", "strategy_lab", "profiles"):
        assert f"{package}/py.typed" in names
    licences = [Path(name).name for name in names if ".dist-info/licenses/" in name]
    assert sorted(licences) == ["LICENSE", "LICENSE.txt"]


@pytest.mark.slow
def test_profiles_is_installed_as_the_short_name_alone(wheel: zipfile.ZipFile) -> None:
    found = {name for name in wheel.namelist() if name.startswith("profiles/")}
    assert found == {"profiles/__init__.py", "profiles/py.typed"}


@pytest.mark.slow
def test_the_version_of_a_wheel_is_that_of_the_project_file(wheel: zipfile.ZipFile) -> None:
    version = Path(str(wheel.filename)).name.split("-")[1]
    assert f'version = "{version}"' in (REPOSITORY / "pyproject.toml").read_text().splitlines()


def test_the_command_line_and_the_package_tell_the_same_version(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"strategy-lab {strategy_core.__version__}\n"
    assert strategy_core.__version__[0].isdigit()
