"""A copy of the repository, with or without a leaf, and a Python that has it installed in place."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

from tests.plugins.leaves import REPOSITORY

_SOURCES = ("app", "profiles", "strategy_core", "plugins", "tests", "benchmarks")
_AROUND = ("docs", "requirements", ".ci", ".github")
_IGNORED = shutil.ignore_patterns("__pycache__")
_NAMING = ("*.toml", "*.md", "*.yml", "Makefile", "figures.json")


def copied(folder: Path) -> Path:
    folder.mkdir()
    for file in (path for path in REPOSITORY.iterdir() if path.is_file()):
        shutil.copy(file, folder)
    for name in _SOURCES + _AROUND:
        shutil.copytree(REPOSITORY / name, folder / name, ignore=_IGNORED, symlinks=True)
    return folder


def remove(leaf: str, copy: Path) -> None:
    """Remove a leaf as docs/extending.md says: two folders, and the lines that name it."""
    shutil.rmtree(copy / "plugins" / leaf)
    shutil.rmtree(copy / "tests" / "plugins" / leaf)
    names = re.compile(rf"\bstrategy_{leaf}\b|\bplugins[/.]{leaf}\b")
    for pattern in _NAMING:
        for file in copy.rglob(pattern):
            lines = file.read_text("utf-8").splitlines(keepends=True)
            file.write_text("".join(line for line in lines if not names.search(line)), "utf-8")


class Installed:
    """The Python of an environment in which a copy is installed in place."""

    def __init__(self, copy: Path, folder: Path) -> None:
        self.copy = copy
        venv.create(folder, symlinks=True)
        self._python = folder / "bin" / "python"
        (site,) = folder.glob("lib/python*/site-packages")
        project = tomllib.loads((copy / "pyproject.toml").read_text("utf-8"))
        roots = project["tool"]["hatch"]["build"]["dev-mode-dirs"]
        (site / "lab.pth").write_text("".join(f"{copy / root}\n" for root in roots))
        # Read as plain folders, so that the lab's own checkout is not among them.
        others = [path for path in sys.path if path.endswith("-packages")]
        (site / "others.pth").write_text("".join(f"{path}\n" for path in others))
        info = site / "strategy_lab-0.0.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strategy-lab\nVersion: 0\n")
        entries = configparser.ConfigParser()
        entries.read_dict(project["project"]["entry-points"])
        with (info / "entry_points.txt").open("w") as file:
            entries.write(file)

    def __call__(self, *arguments: str) -> str:
        """What `python ARGUMENTS` prints, in the copy; COPY is its path."""
        environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            [self._python, *arguments],
            cwd=self.copy,
            env=environment | {"COLUMNS": "300"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{arguments}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        return done.stdout.replace(str(self.copy), "COPY")
