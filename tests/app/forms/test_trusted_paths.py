"""Paths of code and data: one that came with a link runs nothing before the person confirms it."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from strategy_app.access.policy import Access
from strategy_app.server import state
from strategy_profiles.run.manifest import create_run_file
from tests.app.looking import open_page, rerun, text_of
from tests.app.pages.test_lab_page import PretendedLauncher, errors, launcher, press

__all__ = ["launcher"]  # a fixture of the Lab page's tests

OWN = "My own file"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "theirs.py"
    path.write_text("")
    return path


def run_button(at: AppTest) -> bool:
    """Whether Run can be pressed."""
    return not next(button for button in at.button if button.label == "Run").disabled


def test_a_link_that_names_a_workload_file_waits_for_the_person(
    lab: Path, launcher: PretendedLauncher, file: Path
) -> None:
    at = open_page("lab", lab, workload=OWN, workload_file=str(file))
    assert not run_button(at)
    assert "path from the link" in text_of(at)
    assert file.name.replace(".", "\\.") in text_of(at)
    press(at, "Use this workload file")
    assert run_button(at)
    press(at, "Run")
    assert launcher.launched[0].spec.workload == str(file)


def test_a_link_that_names_a_file_as_the_workload_waits_for_the_person(
    lab: Path, file: Path
) -> None:
    at = open_page("lab", lab, workload=str(file))
    button = next(button for button in at.button if button.label == "Run")
    is_built_in = at.selectbox(key="workload").value == "digits-cnn"
    assert is_built_in or button.disabled


def test_another_change_of_the_page_confirms_nothing(lab: Path, file: Path) -> None:
    at = open_page("lab", lab, workload=OWN, workload_file=str(file))
    at.number_input(key="batch").set_value(64)
    assert not run_button(rerun(at))


def test_a_path_that_was_typed_needs_no_confirmation(
    lab: Path, launcher: PretendedLauncher, file: Path
) -> None:
    at = open_page("lab", lab, workload=OWN, workload_file="/elsewhere/x.py")
    at.text_input(key="workload_file").set_value(str(file))
    assert run_button(rerun(at))
    press(at, "Run")
    assert launcher.launched


def test_a_link_that_names_data_waits_for_the_person(lab: Path) -> None:
    at = open_page("lab", lab, data="/home/someone/data.npz")
    assert not run_button(at)
    press(at, "Use this data")
    assert run_button(at)


def test_a_link_with_a_built_in_workload_can_be_run_at_once(
    lab: Path, launcher: PretendedLauncher
) -> None:
    at = open_page("lab", lab, workload="digits-mlp", steps="7")
    press(at, "Run")
    assert launcher.launched[0].spec.steps == 7


def test_a_run_of_the_folder_that_names_a_file_is_not_run_again_by_one_click(
    lab: Path, launcher: PretendedLauncher, file: Path
) -> None:
    create_run_file(lab / "theirs", {"strategy": "mirrored", "workload": str(file)})
    at = open_page("lab", lab, run="theirs")
    again = next(button for button in at.button if button.label == "Run again")
    assert again.disabled
    press(at, "Use this workload file")
    press(at, "Run again")
    assert launcher.launched[0].spec.workload == str(file)


def test_own_files_are_off_for_a_network_without_a_token(
    lab: Path, launcher: PretendedLauncher, file: Path
) -> None:
    create_run_file(lab / "theirs", {"strategy": "mirrored", "workload": str(file)})
    at = open_page("lab", lab)
    state.lab().access = Access("0.0.0.0")
    at = rerun(at)
    assert OWN not in at.selectbox(key="workload").options
    assert at.text_input(key="data").disabled
    assert "without a token" in text_of(at)
    at.query_params["run"] = "theirs"
    press(rerun(at), "Use this workload file")
    press(at, "Run again")
    assert "without a token" in errors(at)
    assert not launcher.launched
