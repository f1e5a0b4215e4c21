"""SQL sees the run's tables, and nothing else of this machine."""

from __future__ import annotations

import resource
import sys
import time
import warnings
from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.errors import AnalysisError
from strategy_profiles.tables import sql_process
from strategy_profiles.tables.schema import TABLES
from strategy_profiles.tables.sql_process import ask_folder, run_query
from strategy_profiles.tables.store import Profile
from tests.synthetic import write_run
from tests.timeouts import MAX_WAIT_S


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    folder = tmp_path_factory.mktemp("sql") / "run"
    return strategy_profiles.load(write_run(folder, steps=60, straggler=(2, 30.0)))


def test_a_query_joins_tables(profile: Profile) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = profile.sql(
            "select r.replica, median(r.wait_ms) as wait_ms from replica_steps r "
            "join steps s using (segment, step) where s.captured group by all order by wait_ms"
        )
    assert answer.column_names == ["replica", "wait_ms"]
    assert answer["replica"][0].as_py() == 2


def test_columns_of_one_name_stay_apart(profile: Profile) -> None:
    query = "select a.step, b.step, 7 as step_1, b.step from steps a, steps b where b.step = a.step"
    query += " + 1 order by 1 limit 2"
    rows = [
        {"step": 0, "step_2": 1, "step_1": 7, "step_3": 1},
        {"step": 1, "step_2": 2, "step_1": 7, "step_3": 2},
    ]
    assert profile.sql(query).to_pylist() == rows
    assert run_query(profile, query, timeout_s=60.0, most_rows=10).rows.to_pylist() == rows


def test_every_table_is_there_with_its_columns(profile: Profile) -> None:
    assert set(profile.sql("show tables")["name"].to_pylist()) == set(TABLES)
    for name, schema in TABLES.items():
        described = profile.sql(f"describe {name}")
        assert described["column_name"].to_pylist() == schema.names


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.csv"
    path.write_text("a,b\n1,2\n")
    return path


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_csv('{path}')",
        "select * from '{path}'",
        "select * from read_text('{path}')",
        "select * from read_blob('{path}')",
        "select * from read_parquet('{path}')",
        "select * from sniff_csv('{path}')",
        "select * from glob('{folder}/*')",
        "select * from query('select * from read_text(''{path}'')')",
        "with t as (select * from read_csv('{path}')) select * from t",
        "copy steps to '{folder}/out.csv'",
        "copy (select 1) to '{folder}/out.csv'",
        "export database '{folder}/out'",
        "import database '{folder}/out'",
        "attach '{folder}/other.db' as other",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "reset enable_external_access",
        "pragma enable_profiling",
        "create table t as select 1",
        "create view v as select 1",
        "drop view steps",
        "insert into steps select * from steps",
        "delete from steps",
        "call pragma_version()",
        "select 1; select 2",
        "select * from profile",
        "select * from pandas_scan(1)",
        "select * from arrow_scan(1, 2, 3)",
        "select getenv('HOME')",
        "checkpoint",
        "",
        "nonsense",
        "explain copy steps to '{folder}/out.csv'",
        "explain analyze copy steps to '{folder}/out.csv'",
    ],
)
def test_a_query_reads_and_writes_nothing_beside_the_tables(
    profile: Profile, query: str, secret: Path, tmp_path: Path
) -> None:
    before = set(tmp_path.iterdir())
    with pytest.raises(
        AnalysisError, match=r"The query is|refuses the query: (Permission|Catalog|Binder) Error"
    ):
        profile.sql(query.format(path=secret, folder=tmp_path))
    assert set(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_a_query_that_takes_too_long_is_ended(profile: Profile) -> None:
    # Few enough rows on either side that its time, not its memory, is what runs out.
    endless = "select count(*) from range(1000000) a, range(1000000) b where a.range < b.range"
    began = time.monotonic()
    with pytest.raises(AnalysisError, match=r"took longer than 2 s and was ended"):
        run_query(profile, endless, timeout_s=2.0, most_rows=10)
    assert time.monotonic() - began < MAX_WAIT_S


def test_a_query_that_runs_out_of_memory_ends_in_a_sentence(profile: Profile) -> None:
    for answer in (
        lambda query: run_query(profile, query, timeout_s=60.0, most_rows=10),
        lambda query: ask_folder(profile.path, query),
    ):
        with pytest.raises(AnalysisError, match=r"needs more memory than the 1 GB.*Ask for fewer"):
            answer("select repeat('x', 4000000000)")


def test_the_refusal_of_a_pivot_without_its_values_says_how_to_name_them(profile: Profile) -> None:
    rows = "(select step, replica, wait_ms from marks)"
    query = f"select * from (pivot {rows} on replica {{}} using max(wait_ms))"
    with pytest.raises(AnalysisError, match=r"Name their values: PIVOT"):
        profile.sql(query.format(""))
    assert profile.sql(query.format("in (0, 1)")).column_names == ["step", "0", "1"]


HEAVY = {
    "text of two billion characters": "select repeat('x', 2000000000)",
    "a list of everything": "select list(a.range) from range(100000000) a",
    "a list of texts": "select list(repeat('x', 1000)) from range(30000000)",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind_of_query", HEAVY)
def test_a_query_that_needs_too_much_memory_is_ended(profile: Profile, kind_of_query: str) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    with pytest.raises(AnalysisError, match=r"memory|MiB|Out of Memory"):
        run_query(profile, HEAVY[kind_of_query], timeout_s=60.0, most_rows=10)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert peak <= max(before, (2 << 30) / 1024)


def test_what_is_wrong_with_a_query_is_not_called_a_lack_of_memory(
    profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AnalysisError, match="not text in UTF-8"):
        ask_folder(profile.path, "select 'a\udcff'")
    for code, said in (
        ("raise ValueError('odd')", "ended with code 1 before it answered: ValueError: odd"),
        ("import os; os.abort()", "ended with SIGABRT before it answered: it said nothing"),
        ("raise MemoryError", "needs more than 4 GiB of memory"),
        ("import os; os.kill(os.getpid(), 9)", "needs more than 4 GiB of memory"),
    ):
        monkeypatch.setattr(sql_process, "_COMMAND", [sys.executable, "-c", code])
        with pytest.raises(AnalysisError, match=said):
            ask_folder(profile.path, "select 1")


@pytest.mark.slow
def test_an_answer_has_a_bounded_number_of_rows(profile: Profile) -> None:
    answer = run_query(profile, "select * from range(100000000)", timeout_s=60.0, most_rows=25_000)
    assert (answer.rows.num_rows, answer.is_cut) == (25_000, True)
    answer = run_query(profile, "select count(*) as num from steps", timeout_s=60.0, most_rows=10)
    assert (answer.rows.to_pylist(), answer.is_cut) == ([{"num": 60}], False)
    with pytest.raises(AnalysisError, match="DuckDB refuses the query: Catalog Error"):
        run_query(profile, "select * from nope", timeout_s=60.0, most_rows=10)


def test_a_query_has_a_bounded_length(profile: Profile) -> None:
    with pytest.raises(AnalysisError, match="more than 100,000 characters"):
        profile.sql("select " + "1 + " * 30_000 + "1")


def test_only_the_tables_of_the_query_are_read(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=30))
    profile.sql("select count(*) from Steps")
    assert set(profile._tables) == {"steps"}
