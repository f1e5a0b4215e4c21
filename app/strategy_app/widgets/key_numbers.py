"""The key numbers of a segment as tiles: the step time largest; a missing one says why."""

from __future__ import annotations

from streamlit.delta_generator import DeltaGenerator

from strategy_app.widgets.tiles import Source, Tile, show_tiles, split_unit
from strategy_profiles.analysis.findings import Facts
from strategy_profiles.analysis.key_numbers import key_numbers
from strategy_profiles.answers.answer import KeyNumber
from strategy_profiles.reporting.definitions import DEFINITIONS


def show_key_numbers(
    facts: Facts, memory: Tile, first: DeltaGenerator, others: DeltaGenerator
) -> None:
    """The key numbers, as report and command line have them.

    Args:
      memory: of the run, beside the step time.
      first: place of the step time, which is large.
      others: place of all others.
    """
    step_time, *rest = map(tile_of, key_numbers(facts))
    with first:
        show_tiles([step_time, memory], first_is_large=True)
    with others.container(key="key_numbers"):
        show_tiles(rest)


def tile_of(item: KeyNumber) -> Tile:
    """A tile for a key number."""
    return number(item.key, item.text, item.source, item.note, note=item.note)


def number(
    key: str,
    text: str,
    source: Source | None = "measured",
    reason: str = "",
    *,
    note: str = "",
) -> Tile:
    """A tile for a defined number; `text` is the value with its unit, or a dash."""
    value, unit = split_unit(text)
    found = DEFINITIONS[key]
    return Tile(found.label, value, unit, found.text, source, reason, note)
