"""Source roots, each with one package: what is built, imported and named is what git has."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.dockerfile_steps import REPOSITORY
from tests.plugins.leaves import LEAF_FOLDERS

LEAVES = {f"plugins/{path.name}": f"strategy_{path.name}" for path in LEAF_FOLDERS}
ROOTS = {
    "app": "strategy_app",
    "profiles": "strategy_profiles",
    "strategy_core": "strategy_core",
    **LEAVES,
}


def files_of(*folders: str) -> set[str]:
    places = (REPOSITORY / folder for folder in folders)
    paths = (path for root in places for path in root.rglob("*") if path.is_file())
    kept = (path.relative_to(REPOSITORY) for path in paths if path.parent.name != "__pycache__")
    return {path.as_posix() for path in kept}


@pytest.fixture
def without_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def sdist(source: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names of the source distribution's files, below its one folder."""
    target = tmp_path_factory.mktemp("sdist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(target)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = target.glob("*.tar.gz")
    with tarfile.open(built) as packed:
        members = packed.getmembers()
    assert all(member.isfile() for member in members), "no links"
    return [member.name.partition("/")[2] for member in members]


def test_a_package_is_a_folder_and_has_no_links() -> None:
    for root in ROOTS:
        links = [path for path in (REPOSITORY / root).rglob("*") if path.is_symlink()]
        assert links == []
        assert not (REPOSITORY / root / "__init__.py").exists()


@pytest.mark.slow
def test_a_source_distribution_has_each_file_of_the_packages_once(sdist: list[str]) -> None:
    assert sorted(set(sdist)) == sorted(sdist)
    files = [name for name in sdist if name.startswith(tuple(f"{root}/" for root in ROOTS))]
    assert set(files) == files_of(*ROOTS)


@pytest.mark.slow
def test_a_wheel_has_what_the_source_distribution_has(
    sdist: list[str], wheel: zipfile.ZipFile
) -> None:
    names = [name for name in wheel.namelist() if ".dist-info/" not in name]
    assert sorted(names) == sorted(
        name.removeprefix(f"{root}/")
        for name in sdist
        for root, package in ROOTS.items()
        if name.startswith(f"{root}/{package}/")
    )
    assert {name.partition("/")[0] for name in names} == set(ROOTS.values())


def test_the_lab_is_installed_in_place_by_lines_that_are_folders() -> None:
    """Editors, type checkers and debuggers read such a file, and run no code of it."""
    files = distribution("strategy-lab").files or []
    texts = [file.read_text() for file in files if file.suffix == ".pth"]
    assert [sorted(text.splitlines()) for text in texts] == [
        sorted(str(REPOSITORY / root) for root in ROOTS)
    ]


@pytest.mark.usefixtures("without_path")
@pytest.mark.parametrize("where", ["repository", "empty", "project"])
def test_the_packages_are_found_from_any_folder(tmp_path: Path, where: str) -> None:
    folder = REPOSITORY if where == "repository" else tmp_path
    if where == "project":
        for name in ROOTS:
            (tmp_path / name).mkdir(parents=True)
        for name in ("app", "profiles"):
            (tmp_path / name / "__init__.py").write_text("raise ImportError('of the project')\n")
            (tmp_path / f"{name}.py").write_text("raise ImportError('of the project')\n")
    names = ", ".join(ROOTS.values())
    done = python(folder, "-c", f"import {names}\nfor each in ({names}): print(each.__file__)")
    assert done.stdout.splitlines() == [
        str(REPOSITORY / root / package / "__init__.py") for root, package in ROOTS.items()
    ], done.stderr


@pytest.mark.usefixtures("without_path")
def test_a_traceback_names_a_file_that_git_has(tmp_path: Path) -> None:
    code = "from strategy_profiles.analysed import load; load(None)"
    done = python(tmp_path, "-c", code)
    named = {
        os.path.relpath(line.split('"')[1], REPOSITORY)
        for line in done.stderr.splitlines()
        if line.startswith('  File "') and "strategy_profiles" in line
    }
    assert named
    assert named <= files_of("profiles")
