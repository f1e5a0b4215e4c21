"""The wheel without extras: what reads runs works; the other verbs name what they lack."""

from __future__ import annotations

import re
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from strategy_profiles.extras import extras
from strategy_profiles.registered import registered
from tests.plugins.leaves import from_doors
from tests.synthetic import write_run

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parents[1]
DATA = TESTS / "data"


def needed(wheel: zipfile.ZipFile) -> dict[str, Distribution]:
    """The packages that the wheel requires without an extra, and what these require."""
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    lines = re.findall(r"^Requires-Dist: (.*)$", wheel.read(metadata).decode(), re.MULTILINE)
    closure: dict[str, Distribution] = {}
    while lines:
        requirement = Requirement(lines.pop())
        name = canonicalize_name(requirement.name)
        if name not in closure and (
            requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        ):
            closure[name] = distribution(name)
            lines += closure[name].requires or []
    return closure


@pytest.fixture(scope="module")
def site(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of a venv with the wheel and links to the packages that it requires."""
    folder = tmp_path_factory.mktemp("base") / "venv"
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for package in needed(wheel).values():
        for top in {file.parts[0] for file in package.files or () if file.parts[0] != ".."}:
            if not (site / top).exists():
                (site / top).symlink_to(package.locate_file(top))
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
    subprocess.run([*pip, "--quiet", "--no-deps", "--no-index", wheel.filename], check=True)
    return site


class Lab:
    """The command of that venv, beside two runs `a` and `b`."""

    def __init__(self, site: Path, folder: Path) -> None:
        self._command = site.parents[2] / "bin" / "strategy-lab"
        self._folder = folder

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._command, *arguments],
            cwd=self._folder,
            check=False,
            capture_output=True,
            text=True,
        )


@pytest.fixture
def lab(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    write_run(tmp_path / "a", steps=60)
    write_run(tmp_path / "b", steps=60, seed=5)
    return Lab(site, tmp_path)


def test_the_base_has_neither_tensorflow_nor_the_page(wheel: zipfile.ZipFile) -> None:
    assert not {"tensorflow", "streamlit", "plotly", "pandas", "keras"} & needed(wheel).keys()


@pytest.mark.parametrize(
    "command",
    [
        "summary a",
        "compare a b",
        "export a --format parquet -o tables",
        "sql a SELECT(1)",
        "recover a",
        *(command for commands in from_doors("READING") for command in commands),
    ],
    ids=lambda command: command.replace(str(TESTS), "TESTS"),
)
def test_what_reads_runs_needs_no_extra(lab: Lab, command: str) -> None:
    for each in command.split(" && "):
        done = lab(*each.split())
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("run", "tensorflow"),
        ("trace train.py", "tensorflow"),
        ("worker", "tensorflow"),
        ("devices", "tensorflow"),
        ("ui", "ui"),
        ("", "ui"),
        *((verb, verb) for verb in registered("verbs") if verb in extras()),
        *((verb, extra) for verbs in from_doors("NEEDS") for verb, extra in verbs.items()),
    ],
)
def test_a_verb_names_the_extra_that_it_lacks(lab: Lab, command: str, extra: str) -> None:
    done = lab(*command.split())
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert f"pip install 'strategy-lab[{extra}]'" in line


def test_leaves_know_the_extras_that_are_missing(lab: Lab) -> None:
    for check in from_doors("check_base"):
        check(lab, has_tensorflow=False)


def test_a_tensorflow_of_another_distribution_is_used_as_it_is(
    lab: Lab, site: Path, tmp_path: Path
) -> None:
    own = site / "tensorflow.py"
    info = site / "vendor_tensorflow-1.0.dist-info"
    info.mkdir()
    try:
        own.write_text("__version__ = '2.99-vendor'\n")
        (info / "METADATA").write_text("Name: vendor-tensorflow\nVersion: 1.0\n")
        (tmp_path / "train.py").write_text("print('the program ran')\n")
        assert "the program ran" in lab("trace", "train.py").stdout
        for check in from_doors("check_base"):
            check(lab, has_tensorflow=True)
    finally:
        own.unlink()
        (info / "METADATA").unlink()
        info.rmdir()
