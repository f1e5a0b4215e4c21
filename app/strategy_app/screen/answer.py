"""An answer on a page: its sentence large, its numbers as tiles, then its tables and charts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import streamlit as st

from strategy_app.charts.lines import lines
from strategy_app.screen.bars import show_bars
from strategy_app.screen.code import show_code, show_difference, show_shares
from strategy_app.screen.table import show_table, widths_px
from strategy_app.server.opened import OpenRun
from strategy_app.widgets.chart import draw_chart
from strategy_app.widgets.empty import empty
from strategy_app.widgets.key_numbers import show_numbers
from strategy_app.widgets.matrix import show_matrix_chart
from strategy_app.widgets.segments import facts_of
from strategy_app.widgets.text import as_markdown, plain
from strategy_app.widgets.verdict import part_as_html, show_sentence
from strategy_profiles.analysis.facts import Facts
from strategy_profiles.answers.answer import (
    Alternatives,
    Answer,
    Bars,
    Code,
    Difference,
    Lines,
    Missing,
    Part,
    Shares,
    Table,
)
from strategy_profiles.tables.store import Profile

MANY = 6
"""A matrix with more names takes the width of the page; the others have a chart beside them."""
HALF_PX = 592
"""A table that takes more has the width of the page, of 1280 px."""
LABELLED = 16
"""A matrix with more names has no numbers on its cells."""
Question = Callable[[Profile, Facts], Answer]


def answer_of(opened: OpenRun, question: Question, segment: int) -> Answer:
    """Return the answer to a question about a segment, computed once per state of the run."""

    def answered(profile: Profile, number: int) -> Answer:
        return question(profile, opened.ask(facts_of, number))

    answered.__qualname__ = question.__qualname__
    return opened.ask(answered, segment)


def show_answer(answer: Answer) -> None:
    """Draw all of an answer."""
    show_beginning(answer, has_notes=False)
    show_parts(answer.parts, is_whole=not answer.sentence)
    _show_notes(answer.notes)


def show_beginning(answer: Answer, *, has_notes: bool = True) -> None:
    """Draw its sentence and its numbers, and what else is to know of all of it."""
    if answer.sentence:
        show_sentence("".join(map(part_as_html, answer.sentence)))
    show_warnings(answer.warnings)
    if answer.numbers:
        show_numbers(answer.numbers, first_is_large=True)
    if has_notes:
        _show_notes(answer.notes)


def show_warnings(warnings: Sequence[str]) -> None:
    """Draw what makes an answer doubtful in one box: several would push its numbers down."""
    lines = [as_markdown(warning) for warning in warnings]
    if lines:
        st.warning(lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines))


def _show_notes(notes: Iterable[str]) -> None:
    for note in notes:
        st.caption(as_markdown(note))


def show_parts(parts: Sequence[Part], *, is_whole: bool = False) -> None:
    """Draw parts below each other; a chart shares its row with the chart or table after it.

    A row that the reader chooses in a table replaces the part with the key of its details.

    Args:
      is_whole: nothing else is said, so that what is missing is the page's answer.
    """
    chosen: dict[str, Part] = {}
    for row in _rows(parts):
        is_half = len(parts) > 1 and any(map(_is_narrow, row))
        columns = st.columns(2) if is_half else [st.container()]
        for column, part in zip(columns, row, strict=False):
            with column:
                _show(part, chosen, is_whole=is_whole)


def _rows(parts: Sequence[Part]) -> Iterator[Sequence[Part]]:
    left = list(parts)
    while left:
        is_pair = _is_narrow(left[0]) and len(left) > 1 and _may_be_beside(left[1])
        size = 2 if is_pair else 1
        yield left[:size]
        del left[:size]


def _is_narrow(part: Part) -> bool:
    return isinstance(part, Bars | Lines) or (
        isinstance(part, Alternatives) and len(part.options[0].names) <= MANY
    )


def _may_be_beside(part: Part) -> bool:
    if not isinstance(part, Table):
        return _is_narrow(part)
    return sum(widths_px(part)) <= HALF_PX and not (part.details or part.is_minor)


def _show(part: Part, chosen: dict[str, Part], *, is_whole: bool) -> None:
    part = chosen.get(part.key, part)
    if isinstance(part, Missing):
        _show_missing(part, is_whole=is_whole)
        return
    with st.expander(part.title) if _is_minor(part) else st.container():
        if not _is_minor(part):
            st.header(part.title, help=part.hint or None)
        row = _DRAWN[type(part)](part)
        _show_notes(part.notes)
    if isinstance(part, Table) and row is not None:
        chosen[part.details[row].key] = part.details[row]


def _is_minor(part: Part) -> bool:
    return isinstance(part, Table) and part.is_minor


def _show_lines(part: Lines) -> None:
    draw_chart(lines(part), key=f"lines_{part.key}", alt=part.title)


def _show_alternatives(part: Alternatives) -> None:
    titles = {option.title: option for option in part.options}
    first = part.options[0].title
    chosen = st.segmented_control(
        "Source", list(titles), default=first, key=f"source_of_{part.key}"
    )
    matrix = titles[chosen or first]
    cells = np.array(matrix.num_bytes, float)
    if np.nansum(cells):
        names = [plain(name, 24) for name in matrix.names]
        show_matrix_chart(
            names,
            np.nan_to_num(cells),
            key=f"matrix_{part.key}",
            alt=f"{part.title}: bytes per step",
            num_labelled=LABELLED if len(names) > MANY else MANY + 3,
        )
    _show_notes(matrix.notes)


_DRAWN: dict[type[Part], Callable[[Any], int | None]] = {
    Alternatives: _show_alternatives,
    Bars: show_bars,
    Code: show_code,
    Difference: show_difference,
    Lines: _show_lines,
    Shares: show_shares,
    Table: show_table,
}
"""What draws a part below its heading; a table returns the row that the reader chose."""


def _show_missing(part: Missing, *, is_whole: bool) -> None:
    if is_whole or part.remedy:
        link = {"page": "lab", "link": "New run"} if part.needs_new_run else {}
        said = ": ".join(filter(None, (part.title, f"{part.reason}.")))
        empty(said[0].upper() + said[1:], part.remedy, **link)
        return
    st.header(part.title)
    st.markdown(as_markdown(f"Not available: {part.reason}."))
