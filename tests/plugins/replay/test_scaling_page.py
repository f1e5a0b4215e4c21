"""The page More replicas: curve and table, or why there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.looking import open_page, rerun, text_of
from tests.synthetic import write_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for num in (1, 2):
        made = {"workers": num, "replicas": num, "global_batch_size": 32 * num}
        write_run(folder / f"{num}-workers", **made, steps=60, windows=1)
    write_run(folder / "shared", replicas=2, steps=60, windows=1)
    return folder


def test_a_second_run_and_another_link(folder: Path) -> None:
    page = open_page("scaling", folder, run="2-workers")
    (table,) = (each.value for each in page.dataframe)
    assert table["basis"].tolist()[:3] == ["predicted", "measured", "predicted"]
    assert "of gradients by" in text_of(page)
    page.selectbox(key="scaling_other").select("1-workers")
    (table,) = (each.value for each in rerun(page).dataframe)
    assert table["basis"].tolist()[:3] == ["measured", "measured", "predicted"]
    page.selectbox(key="scaling_link").select("nvlink4")
    (table,) = (each.value for each in rerun(page).dataframe)
    assert set(table["basis"]) == {"on paper"}


def test_the_reason_stands_where_the_curve_would(folder: Path) -> None:
    page = open_page("scaling", folder, run="shared")
    assert "share the cores of one process" in text_of(page)


def test_the_page_predicts_for_hardware_that_the_user_describes(folder: Path) -> None:
    page = open_page("scaling", folder, run="2-workers")
    page.selectbox(key="scaling_link").select("own hardware")
    page_after = rerun(page)
    assert [each.value for each in page_after.error] == ["No value is given\\."]
    assert not page_after.dataframe
    page.number_input(key="link_bandwidth_gbps").set_value(0.001)
    (slow,) = (each.value for each in rerun(page).dataframe)
    page.number_input(key="link_bandwidth_gbps").set_value(100.0)
    page.number_input(key="link_device_times_as_fast").set_value(4.0)
    (fast,) = (each.value for each in rerun(page).dataframe)
    assert set(fast["basis"]) == {"on paper"}
    assert (fast["step_ms"] < slow["step_ms"]).all()
    page.text_input(key="link_device_source").set_value("")
    (error,) = (each.value for each in rerun(page).error)
    assert "device" in error
    assert "where it comes from" in error


@pytest.mark.usefixtures("no_warning_of_defaults")
def test_a_file_fills_the_fields_and_streamlit_warns_of_none(folder: Path) -> None:
    page = open_page("scaling", folder, run="2-workers")
    page.selectbox(key="scaling_link").select("own hardware")
    rerun(page)
    written = b'name = "lab"\nbandwidth_gbps = 12.5\nbandwidth_source = "a test"\n'
    page.get("file_uploader")[0].upload("hardware.toml", written, "application/toml")
    for _ in range(2):
        (table,) = (each.value for each in rerun(page).dataframe)
        assert page.number_input(key="link_bandwidth_gbps").value == 12.5
        assert page.number_input(key="link_latency_us").value is None
        assert page.number_input(key="link_device_times_as_fast").value == 1.0
        assert page.text_input(key="link_name").value == "lab"
        assert page.text_input(key="link_bandwidth_source").value == "a test"
    assert set(table["basis"]) == {"on paper"}
