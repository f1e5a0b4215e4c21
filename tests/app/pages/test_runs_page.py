"""The runs page: the list, SQL, downloads, deletion."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from strategy_app.server import opened
from strategy_app.widgets import run_list
from strategy_app.widgets.downloads import unavailable
from strategy_app.widgets.run_list import since
from strategy_app.widgets.table import PAGE_PX, fitted_px
from strategy_profiles.run.tags import set_tags
from strategy_profiles.tables.store import load
from tests.app.looking import charts_of, open_page, rerun, text_of
from tests.synthetic import write_run
from tests.synthetic.recorded_again import write_run_of_program
from tests.synthetic.stacks import stack_place


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    write_run(tmp_path / "first", steps=30, windows=1, window_steps=4)
    write_run(tmp_path / "second", steps=30, windows=0, ending="failed")
    (tmp_path / "thesis").mkdir()
    return tmp_path


def test_the_list_shows_every_run_and_names_other_folders(runs: Path) -> None:
    at = open_page("runs", runs)
    table = at.dataframe[0].value
    assert set(table["run"]) == {"first", "second"}
    assert dict(zip(table["run"], table["status"], strict=True))["second"] == "✕ failed"
    assert "1 folder holds no run: thesis" in text_of(at)


def test_the_list_has_the_time_of_the_loop_first_and_leaves_out_what_no_run_has(
    tmp_path: Path,
) -> None:
    gaps = [(step, 60.0, stack_place("python", 30, "augment(batch)")) for step in range(1, 99)]
    write_run_of_program(tmp_path / "traced", 1, "augment(batch)", gaps=gaps)
    drawn = open_page("runs", tmp_path).dataframe[0]
    order = list(drawn.proto.column_order)
    assert order.index("loop_ms") < order.index("throughput") < order.index("step_ms")
    assert "tags" not in order
    row = drawn.value.iloc[0]
    assert row["workload"] == "train.py"
    assert row["loop_ms"] > 2 * row["step_ms"]


def test_a_single_run_does_not_ask_for_several_rows(tmp_path: Path) -> None:
    write_run(tmp_path / "one", steps=5, windows=0)
    assert "1 run." in text_of(open_page("runs", tmp_path))
    assert "Select a row" not in text_of(open_page("runs", tmp_path))
    write_run(tmp_path / "two", steps=5, windows=0)
    assert "2 runs. Select a row, then Why above" in text_of(open_page("runs", tmp_path))


def test_names_that_do_not_fit_differ_in_the_list(tmp_path: Path) -> None:
    names = [f"{'of-a-sweep-' * 3}c{number}{'-batch-64' * 3}-cpu" for number in (2, 4)]
    for name in [*names, "short", f"{names[0]}-again"]:
        write_run(tmp_path / name, steps=5, windows=0)
    names_in_list = open_page("runs", tmp_path).dataframe[0].value["run"].tolist()
    assert len(set(names_in_list)) == 4
    limit = max(map(len, names_in_list))
    assert {"short", *(f"…{name[1 - limit :]}" for name in names)} < set(names_in_list)


def test_words_of_the_list_are_whole_if_there_is_room() -> None:
    row = {"run": "12_pooled_feature_maps", "workload": "12_pooled_feature_maps.py", "tags": None}
    row |= {"status": "✓ finished", "strategy": "multi-worker-mirrored ×2", "when": "1 h ago"}
    usual = ["run", *run_list.USUAL]
    for columns in (usual, [name for name in usual if name != "tags"], list(run_list.COLUMNS)):
        px = {name: run_list._configs([row], columns)[name]["width"] for name in columns}
        assert sum(px.values()) <= PAGE_PX or px["run"] == run_list.LEAST_PX
        if "tags" not in columns:
            assert min(px["run"], px["workload"]) >= fitted_px(20)


def test_a_small_loss_has_space_for_all_its_digits() -> None:
    assert fitted_px(len("0.000001234")) <= run_list.COLUMNS["loss"]["width"]


def test_a_loss_that_diverged_has_a_power_of_ten(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = run_list._row
    monkeypatch.setattr(run_list, "_row", lambda *args: row(*args) | {"loss": 3.4e12})
    assert set(open_page("runs", runs).dataframe[0].value["loss"]) == {"3.4e+12"}


def test_a_group_on_two_pages_says_how_many_of_its_runs_are_on_each(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_list, "PAGE_ROWS", 1)
    at = open_page("runs", runs)
    at.selectbox("group").select("strategy")
    assert "1 of 2 runs · loop per step" in text_of(rerun(at))


def test_a_page_that_a_filter_takes_away_gives_way_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_list, "PAGE_ROWS", 1)
    for name in ("one", "two-a", "two-b"):
        write_run(tmp_path / name, steps=5, windows=0)
    at = open_page("runs", tmp_path)
    at.selectbox("runs_page_number").select(3)
    rerun(at)
    at.text_input("find").set_value("two")
    rerun(at)
    assert at.dataframe[0].value["run"].tolist()[0].startswith("two")


def test_a_long_list_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {f"run-{number}" for number in range(opened.MAX_KEPT + 2)}
    for name in names:
        write_run(tmp_path / name, steps=5, windows=0)
    open_page("runs", tmp_path, run="run-0")

    read = opened._open

    def reads_again(path: Path, stamp: str) -> opened.OpenRun:
        assert path.name == "run-0", f"{path} was read again"  # the chosen run is
        return read(path, stamp)

    monkeypatch.setattr(opened, "_open", reads_again)
    table = open_page("runs", tmp_path, run="run-0").dataframe[0].value
    assert set(table["run"]) == names
    assert set(table["status"]) == {"✓ finished"}


def test_a_run_whose_files_change_is_read_again(runs: Path) -> None:
    write_run(runs / "third", steps=30, windows=0, ending=None)
    assert _status_in_list(runs, "third") == "◌ incomplete"
    shutil.rmtree(runs / "third")
    write_run(runs / "third", steps=40, windows=0)
    assert _status_in_list(runs, "third") == "✓ finished"


def _status_in_list(runs: Path, name: str) -> str:
    table = open_page("runs", runs).dataframe[0].value
    return str(dict(zip(table["run"], table["status"], strict=True))[name])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such a name")
def test_a_run_whose_name_is_not_text_is_listed_apart(runs: Path) -> None:
    (runs / "second").rename(runs / os.fsdecode(b"se\xffcond"))
    at = open_page("runs", runs)
    assert list(at.dataframe[0].value["run"]) == ["first"]
    said = text_of(at).replace("\\", "")
    assert "1 run is not listed: the folder's name is not UTF-8. Rename it: seudcffcond" in said


@pytest.mark.slow
def test_a_query_is_answered(runs: Path) -> None:
    at = open_page("runs", runs, run="first")
    at.text_area[0].set_value("select count(*) as num from steps")
    next(item for item in at.button if item.label == "Run the query").click()
    rerun(at)
    assert at.dataframe[-1].value["num"][0] == 30
    at.pills("sql_example").set_value(["Collectives"])  # another widget: the answer stays
    rerun(at)
    assert at.dataframe[-1].value["num"][0] == 30
    at.selectbox("pick_run").set_value("second")  # another run: it goes
    rerun(at)
    assert all("num" not in frame.value for frame in at.dataframe)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("select nothing from nowhere", "Tables"),
        ("delete from steps", "one SELECT"),
        ("select * from read_csv('/etc/passwd')", "DuckDB"),
    ],
)
def test_a_wrong_query_is_explained(runs: Path, query: str, said: str) -> None:
    at = open_page("runs", runs, run="first")
    at.text_area[0].set_value(query)
    next(item for item in at.button if item.label == "Run the query").click()
    rerun(at)
    assert said in at.error[-1].value


def test_every_export_has_a_button_and_what_is_missing_says_why(runs: Path) -> None:
    at = open_page("runs", runs, run="first")
    labels = {item.proto.label for item in at.get("download_button")}
    assert len(labels) >= 5
    assert "kept no raw captures" in str(unavailable(load(runs / "first"), "xplane"))


def test_deleting_asks_back_once_and_then_deletes(runs: Path) -> None:
    at = open_page("runs", runs, run="second")
    at.button("delete").click()
    rerun(at)
    assert (runs / "second").exists()
    assert "will be deleted permanently" in text_of(at)
    # A dialog is a fragment; here, without a browser, its button counts while it is open.
    at.button("delete").click()
    at.button("delete_yes").click()
    rerun(at)
    assert not (runs / "second").exists()
    assert (runs / "first").exists()


@pytest.mark.parametrize(
    "text", ['{"schema_version": null}', "[" * 100_000, '{"spec": {"strategy": [1]}}', "\0"]
)
def test_a_damaged_run_is_listed_beside_the_others_and_can_be_deleted(
    text: str, runs: Path
) -> None:
    (runs / "second" / "run.json").write_text(text)
    with (runs / "second" / "launcher.jsonl").open("a") as events:
        events.write('{"kind": "segment", "segment": "x"}\n{"kind": "exited", "worker": []}\n')
    at = open_page("runs", runs, run="second")
    rows = at.dataframe[0].value
    assert dict(zip(rows["run"], rows["status"], strict=True)) == {
        "first": "✓ finished",
        "second": "✕ damaged",
    }
    at.button("delete").click()
    rerun(at)  # a dialog counts while it is open: see above
    at.button("delete").click()
    at.button("delete_yes").click()
    rerun(at)
    assert not (runs / "second").exists()


@pytest.mark.slow
def test_a_run_gets_another_name(runs: Path) -> None:
    at = open_page("runs", runs, run="second")
    at.button("rename").click()
    rerun(at)
    at.button("rename").click()  # a dialog counts while it is open: see above
    rerun(at)
    at.text_input("rename_to_second").set_value("first")
    at.button("rename").click()
    next(item for item in at.button if item.label == "Rename it").click()
    rerun(at)
    assert "first exists already" in text_of(at).replace("\\", "")
    at.text_input("rename_to_second").set_value("third")
    at.button("rename").click()
    next(item for item in at.button if item.label == "Rename it").click()
    rerun(at)
    assert (runs / "third").is_dir()
    assert not (runs / "second").exists()


@pytest.mark.parametrize(
    ("minutes", "text"), [(0.2, "just now"), (5, "5 min ago"), (180, "3 h ago")]
)
def test_when_is_said_for_people(minutes: float, text: str) -> None:
    now = 1_800_000_000 * 10**9
    assert since(int(now - minutes * 60e9), now) == text


def test_the_list_is_filtered_by_words_and_tags_and_sorted_into_groups(runs: Path) -> None:
    set_tags(runs / "first", ["baseline"])
    at = open_page("runs", runs)
    at.text_input("find").set_value("second")
    rerun(at)
    assert list(at.dataframe[0].value["run"]) == ["second"]
    at.text_input("find").set_value("")
    at.multiselect("tags").set_value(["baseline"])
    rerun(at)
    assert list(at.dataframe[0].value["run"]) == ["first"]
    at.text_input("find").set_value("second")
    rerun(at)
    assert "None of 2 runs matches" in text_of(at)
    at.text_input("find").set_value("")
    at.multiselect("tags").set_value([])
    at.selectbox("group").set_value("tags")
    rerun(at)
    assert [list(each.value["run"]) for each in at.dataframe[:2]] == [["first"], ["second"]]
    assert "Tags: baseline" in text_of(at)


def test_several_runs_are_drawn_together_beside_the_first(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(runs / "empty", steps=0)
    # Without a browser no row can be selected.
    monkeypatch.setattr(
        run_list, "show_runs", lambda found, _group: sorted(found, key=lambda each: each.name)
    )
    at = open_page("runs", runs)
    assert "Without a step: empty" in text_of(at)
    table = at.dataframe[0].value
    assert list(table["Run"]) == ["first", "second"]
    assert table["Loop against the first"][0] == 1
    assert len(charts_of(at)) == 2


def test_all_selected_runs_are_compared(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(runs / "third", steps=40, windows=1)
    monkeypatch.setattr(
        run_list, "show_runs", lambda found, _group: sorted(found, key=lambda each: each.name)
    )
    at = open_page("runs", runs)
    link = next(item.proto for item in at.get("page_link") if "these runs" in item.proto.label)
    assert "a=first&b=second&each=third" in link.query_string
    compared = open_page("compare", runs, a="first", b="second", each=["third"])
    assert "<b>third</b> as B" in text_of(compared)
