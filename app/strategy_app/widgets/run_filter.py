"""Which runs the list shows, and in which order: words to find, tags, groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from strategy_app.widgets.runs_folder import RunEntry
from strategy_app.widgets.text import plain

NO_VALUE = "–"


def _of_spec(name: str) -> Callable[[RunEntry], str]:
    def value(entry: RunEntry) -> str:
        field: Any = (entry.spec or {}).get(name)
        return NO_VALUE if field is None else plain(field, 60)

    return value


GROUPS: dict[str, Callable[[RunEntry], str]] = {
    "strategy": _of_spec("strategy"),
    "devices": _of_spec("devices"),
    "workload": lambda entry: plain(entry.workload or NO_VALUE, 60),
    "tags": lambda entry: ", ".join(plain(tag) for tag in entry.tags) or NO_VALUE,
}


def pick_runs(runs: Sequence[RunEntry]) -> tuple[list[RunEntry], str | None]:
    """Return the runs that fit the controls, and the group that they are sorted by, if any."""
    with st.container(key="runs_filter"):  # whose place `first_style` keeps
        left, middle, right = st.columns([3, 3, 2], vertical_alignment="bottom")
    words = left.text_input(
        "Find",
        key="find",
        placeholder="Words of a name, strategy, workload or tag",
        bind="query-params",
    )
    tags = sorted({tag for entry in runs for tag in entry.tags}, key=str.casefold)
    wanted = middle.multiselect(
        "Tags",
        tags,
        key="tags",
        format_func=plain,
        bind="query-params",
        disabled=not tags,
        placeholder="Any" if tags else "No run has a tag: choose a run and press Tags …",
    )
    group = right.selectbox(
        "Group by", [None, *GROUPS], key="group", format_func=_title, bind="query-params"
    )
    matching = [entry for entry in runs if fits(entry, words, wanted)]
    if group is not None:
        matching.sort(key=GROUPS[group])  # a stable sort: the newest of a group stays first
    return matching, group


def fits(entry: RunEntry, words: str, tags: Sequence[str]) -> bool:
    """Whether a run has all tags, and its name, spec or tags have all words."""
    text = " ".join([entry.name, *(value(entry) for value in GROUPS.values())]).casefold()
    return set(tags) <= set(entry.tags) and all(word in text for word in words.casefold().split())


def _title(group: str | None) -> str:
    return "Nothing" if group is None else group.capitalize()
