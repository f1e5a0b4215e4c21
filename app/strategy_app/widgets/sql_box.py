"""SQL over a run's tables: a box, an example, the tables' columns, the answer or a clear error."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import streamlit as st

from strategy_app.widgets.html_table import MOST_ROWS
from strategy_app.widgets.table import USUAL_ROWS, phone_list
from strategy_app.widgets.text import as_markdown
from strategy_profiles.errors import LabError
from strategy_profiles.tables.schema import TABLES
from strategy_profiles.tables.sql_process import run_query
from strategy_profiles.tables.store import Profile

MAX_ROWS = 10_000
TIMEOUT_S = 20.0
EXAMPLES = {
    "Slowest steps": "select step, wall_ms, loss from steps order by wall_ms desc limit 20",
    "Time per replica": (
        "select replica, avg(compute_ms) as compute_ms, avg(wait_ms) as wait_ms,\n"
        "       avg(transfer_ms) as transfer_ms\nfrom replica_steps\n"
        "group by replica order by replica"
    ),
    "Costliest ops": (
        "select op, category, count(*) as num, sum(duration_ns) / 1e6 as total_ms\n"
        "from spans group by op, category order by total_ms desc limit 20"
    ),
    "Collectives": (
        "select op, instance, group_size, any_value(bytes) as bytes, avg(transfer_ms) as ms,\n"
        "       avg(busbw_gbps) as busbw_gbps\nfrom collectives group by all order by bytes desc"
    ),
}


_ANSWER = "sql_last_answer"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query gave, kept in the session: the next rerun of the page shows it again."""

    run: Path
    query: str
    rows: pa.Table | None = None
    """The first of them; None where the query failed."""
    is_cut: bool = False
    """Whether there are more rows."""
    error: str = ""


def show_sql(profile: Profile) -> None:
    """Draw the form. A query runs when it is submitted, on the current tables of the run."""
    example = st.pills("Examples", list(EXAMPLES), key="sql_example", default="Slowest steps")
    text = EXAMPLES.get(example or "", "")
    with st.form("sql", border=False):
        query = st.text_area("Query (DuckDB SQL)", value=text, height=120, key=f"sql_{example}")
        is_pressed = st.form_submit_button("Run the query", type="primary")
    if is_pressed and query.strip():
        st.session_state[_ANSWER] = _answer(profile, query)
    last: Answer | None = st.session_state.get(_ANSWER)
    if last is not None and last.run == profile.path:
        _show_answer(last)
    with st.expander("Tables and their columns"):
        _show_schema(profile)


def _answer(profile: Profile, query: str) -> Answer:
    try:
        with st.spinner("Asking DuckDB …"):
            result = run_query(profile, query, timeout_s=TIMEOUT_S, most_rows=MAX_ROWS)
    except LabError as error:
        return Answer(profile.path, query, error=str(error))
    return Answer(profile.path, query, _plain(result.rows), result.is_cut)


def _show_answer(answer: Answer) -> None:
    if answer.rows is None:
        st.error(as_markdown(answer.error, 2000))
        return
    num_text = f"{answer.rows.num_rows:,} rows"
    if answer.is_cut:
        num_text = f"The first {num_text}; there are more"
    st.caption(f"{num_text} · {as_markdown(answer.query, 120)}")
    listed = answer.rows.slice(0, MOST_ROWS).to_pydict()
    rows = answer.rows.num_rows
    container = phone_list(
        "sql_answer", listed, {}, shown_rows=min(rows, USUAL_ROWS), num_rows=rows
    )
    container.dataframe(answer.rows, hide_index=True, placeholder="null", key="sql_answer")


def _plain(table: pa.Table) -> pa.Table:
    """Dictionary-coded text as text: the browser's table shows no codes."""
    for index, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(index, field.name, table[field.name].cast(pa.string()))
    return table


def _show_schema(profile: Profile) -> None:
    for name, schema in TABLES.items():
        columns = ", ".join(f"`{field.name}` {_type(field.type)}" for field in schema)
        st.markdown(f"**{name}**: {columns}")
    st.caption(
        "Missing values are null. The column `source` names the source of a number. Times of "
        f"different clocks are never added. This run: {as_markdown(profile.name, 80)}."
    )


def _type(kind: pa.DataType) -> str:
    return "text" if pa.types.is_dictionary(kind) else str(kind).replace("string", "text")
