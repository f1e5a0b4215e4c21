"""The key numbers of a segment as tiles: the step time largest; a missing one says why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import streamlit as st

from strategy_app.widgets.text import as_markdown
from strategy_app.widgets.tiles import show_strip, show_tiles
from strategy_profiles.analysis.findings import Facts
from strategy_profiles.analysis.key_numbers import key_numbers
from strategy_profiles.answers.answer import KeyNumber
from strategy_profiles.reporting import units

FIRST = ("loop_time", "loop_throughput", "step_time", "slowest", "loss")


def show_first_numbers(facts: Facts, memory: KeyNumber) -> None:
    """The numbers that people ask for first, and the memory of the run, in a thin row."""
    first = (item for item in key_numbers(facts) if item.key in FIRST)
    with st.container(key="first_numbers"):
        show_strip([item for item in (*first, memory) if item.text != units.MISSING])


def show_other_numbers(facts: Facts) -> None:
    """The other key numbers, as report and command line have them."""
    with st.container(key="key_numbers"):
        show_numbers([item for item in key_numbers(facts) if item.key not in FIRST])


def show_numbers(items: Sequence[KeyNumber], *, first_is_large: bool = False) -> None:
    """Draw numbers as tiles.

    A tile without a value would say nothing: what is missing is one line, by its reason.
    """
    if known := [item for item in items if item.text != units.MISSING]:
        show_tiles(known, first_is_large=first_is_large and known[0] is items[0])
    missing: dict[str, list[str]] = defaultdict(list)
    for item in items:
        if item.text == units.MISSING:
            missing[item.note].append(item.label)
    if missing:
        said = (f"{units.listed(labels)}: {why}" for why, labels in missing.items())
        st.caption(as_markdown(f"Not known. {'; '.join(said)}."))
