"""The wheel of this tree, built once for all tests of what a user installs."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.dockerfile_steps import REPOSITORY
from tests.installing.test_dockerfile import instructions

VERSION = "9.8.7"
"""The tag of the tree that is built."""


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the Dockerfile copies, without git: a build leaves files in its source."""
    source = tmp_path_factory.mktemp("source")
    for line in instructions("COPY"):
        for name in line.split()[:-1]:
            origin = REPOSITORY / name
            if origin.is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(origin, source / name, ignore=ignored)
            else:
                shutil.copy(origin, source)
    return source


@pytest.fixture(scope="session")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Built from that copy as a git repository with a tag."""
    tagged = tmp_path_factory.mktemp("tagged") / "source"
    shutil.copytree(source, tagged)
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "all"]):
        subprocess.run(["git", *command], cwd=tagged, check=True)
    subprocess.run(["git", "tag", f"v{VERSION}"], cwd=tagged, check=True)
    target = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", target, tagged], check=True)
    (built,) = target.glob("*.whl")
    return zipfile.ZipFile(built)
