"""The wheel holds everything that an installed lab needs: code, browser files, types, licences."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import strategy_core
from strategy_core.cli.main import main
from strategy_profiles.registered import registered
from tests import lab_access
from tests.dockerfile_steps import REPOSITORY
from tests.installing.built_wheel import VERSION
from tests.installing.test_source_roots import ROOTS
from tests.server_process import server_process


@pytest.fixture(scope="module")
def installed(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of the wheel, in an environment that has the packages of this one besides."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(folder, symlinks=True)
    (own,) = folder.glob("lib/python*/site-packages")
    # Read as plain folders, so that the lab's own checkout is not among them.
    others = [path for path in sys.path if path.endswith("-packages")]
    (own / "others.pth").write_text("".join(f"{path}\n" for path in others))
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
    subprocess.run([*pip, "--quiet", "--no-deps", "--no-index", wheel.filename], check=True)
    return folder / "bin" / "strategy-lab"


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with nothing of the checkout on the path."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


@pytest.fixture
def project(empty: Path) -> Path:
    """A folder with modules and packages that have the names of the checkout's."""
    for name in ("app", "profiles", "tests", "benchmarks"):
        (empty / name).mkdir()
        (empty / name / "__init__.py").write_text("raise ImportError('of the project')\n")
    for name in ("app.py", "profiles.py"):
        (empty / name).write_text("raise ImportError('of the project')\n")
    return empty


@pytest.mark.slow
def test_a_wheel_is_typed_and_has_its_licences(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    for package in ROOTS.values():
        assert f"{package}/py.typed" in names
    licences = [Path(name).name for name in names if ".dist-info/licenses/" in name]
    assert sorted(licences) == ["LICENSE", *["LICENSE.txt"] * 3]


@pytest.mark.slow
def test_the_version_of_a_wheel_is_that_of_the_tag(wheel: zipfile.ZipFile) -> None:
    assert Path(str(wheel.filename)).name.split("-")[1] == VERSION


@pytest.mark.slow
def test_a_tree_without_git_has_the_version_of_the_project_file(source: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "version"]
    done = subprocess.run(command, cwd=source, check=True, capture_output=True, text=True)
    said = (REPOSITORY / "pyproject.toml").read_text()
    assert f'fallback-version = "{done.stdout.strip()}"' in said.splitlines()


@pytest.mark.slow
def test_an_installed_lab_knows_its_version_and_can_train(installed: Path, empty: Path) -> None:
    printed = subprocess.run([installed, "--version"], cwd=empty, check=True, capture_output=True)
    assert printed.stdout.decode() == f"strategy-lab {VERSION}\n"
    devices = [installed, "devices", "--json"]
    done = subprocess.run(devices, cwd=empty, check=True, capture_output=True)
    assert any(offer["available"] for offer in json.loads(done.stdout)["strategies"])
    assert not any(empty.iterdir())


@pytest.mark.run
@pytest.mark.skipif("attach" not in registered("verbs"), reason="no package installs the file")
def test_the_environment_variable_has_programs_of_an_installed_lab_wait_once_it_is_asked_for(
    installed: Path, empty: Path
) -> None:
    program = [str(installed.with_name("python")), "-c", "import tensorflow; input()"]
    environment = os.environ | {"STRATEGY_LAB": "1"}
    for option, number in (("--install", 1), ("--uninstall", 0)):
        subprocess.run([installed, "attach", option], check=True, cwd=empty)
        with subprocess.Popen(
            program, env=environment, cwd=empty, stdin=subprocess.PIPE
        ) as process:
            process.communicate(b"\n")
        assert len(list(empty.glob("runs/code-*/run.json"))) == number
        shutil.rmtree(empty / "runs", ignore_errors=True)


@pytest.mark.run
@pytest.mark.browser
def test_an_installed_lab_trains_and_shows_the_run_from_a_project_with_modules_of_its_names(
    installed: Path, project: Path, browser: Browser
) -> None:
    spec = ["--devices", "cpu:2", "--workload", "digits-mlp", "--steps", "3"]
    subprocess.run([installed, "run", *spec, "-o", "runs/one"], cwd=project, check=True)
    python = installed.with_name("python")
    subprocess.run([python, "-c", "import strategy_core"], cwd=project, check=True)
    command = (str(installed), "ui", "--no-browser")
    with server_process(project / "log", program=command, folder=project) as server:
        context = browser.new_context()
        context.add_cookies([lab_access.cookie(server.url)])
        page = context.new_page()
        with page.expect_response(lambda answer: "timeline/index.js" in answer.url) as script:
            page.goto(f"{server.url}/timeline?run=one")
        assert script.value.status == 200
        page.locator(".strategy-lab canvas").first.wait_for()
        context.close()


def test_the_command_line_and_the_package_tell_the_same_version(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"strategy-lab {strategy_core.__version__}\n"
    assert strategy_core.__version__[0].isdigit()
