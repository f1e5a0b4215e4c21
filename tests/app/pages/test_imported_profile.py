"""What the pages show of an imported profile, or why they cannot."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.looking import open_page, text_of
from tests.synthetic import write_run

IMPORTED = Path(__file__).parents[2] / "data" / "imported"
TPU, WITHOUT_STEPS = "tpu_psum", "gpu_gemm"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(IMPORTED, tmp_path_factory.mktemp("pages") / "runs"))


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("overview", "A profile does not record the loss"),
        ("overview", "Measured by a capture, whose steps are derived; means over"),
        ("communication", "5.37 GB"),
        ("placement", "A profile does not record variables"),
        ("timeline", ""),
        ("runs", ""),
    ],
)
def test_a_page_shows_an_imported_profile_or_says_why_not(page: str, said: str, runs: Path) -> None:
    assert said in text_of(open_page(page, runs, run=TPU))


def other_links(opened: AppTest) -> list[str]:
    """Labels of the links beside those of the page's row."""
    row = ["Why", "Timeline", "Communication", "Model"]
    labels = [link.label for link in opened.get("page_link")]
    assert labels[: len(row)] == row
    return labels[len(row) :]


def test_a_profile_without_steps_offers_no_new_run(runs: Path) -> None:
    assert "New run" not in other_links(open_page("timeline", runs, run=WITHOUT_STEPS))


def test_the_overview_of_a_profile_without_steps_says_how_to_get_them(runs: Path) -> None:
    page = open_page("overview", runs, run=WITHOUT_STEPS)
    assert "has 1 replica and no known step: no annotations of steps" in text_of(page)
    assert "Annotate steps with tf.profiler" in text_of(page).replace("\\", "")
    assert not page.header, "headings over numbers that no step has"
    assert other_links(page) == ["Cause", "Steps", "Timeline of its ops"]
    sent = open_page("communication", runs, run=WITHOUT_STEPS)
    assert "Import a profile of several devices" in text_of(sent)
    assert not other_links(sent), "the lab cannot run an imported profile"


def test_a_run_without_a_spec_is_not_laid_beside_the_fields_of_one(runs: Path) -> None:
    write_run(runs / "recorded", steps=60, windows=0)
    compared = text_of(open_page("compare", runs, a=TPU, b="recorded"))
    assert "run A has no recorded spec" in compared
    assert 'aria-label="Differences' not in compared


def test_losses_that_no_profile_has_are_not_drawn(runs: Path) -> None:
    compared = text_of(open_page("compare", runs, a=TPU, b=WITHOUT_STEPS))
    said = "The losses are not known. A: a profile does not record the loss"
    assert said in compared.replace("\\", "")


def test_a_number_that_is_not_known_has_no_tile_but_a_reason(runs: Path) -> None:
    said = text_of(open_page("communication", runs, run="old_gpu")).replace("\\", "")
    assert "lab-tile missing" not in said
    assert "Not known. " in said


def test_copies_of_unknown_size_do_not_make_collectives_unknown(runs: Path) -> None:
    said = text_of(open_page("communication", runs, run="old_gpu")).replace("\\", "")
    assert "no collective in the captured steps" in said
    assert "the profile does not tell the size of at least one copy" in said
    assert "The sizes of what 2 pairs sent are not known." in said
    assert "All collectives of a step" not in said
