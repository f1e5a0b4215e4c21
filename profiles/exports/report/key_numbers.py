"""The key numbers, the step time first and largest."""

from __future__ import annotations

from strategy_lab.profiles.analysis.facts import Facts
from strategy_lab.profiles.analysis.key_numbers import KeyNumber
from strategy_lab.profiles.analysis.key_numbers import key_numbers as find_key_numbers
from strategy_lab.profiles.exports.report.markup import Markup, tag
from strategy_lab.profiles.exports.report.section import source_mark
from strategy_lab.profiles.reporting.definitions import DEFINITIONS


def key_numbers(facts: Facts) -> Markup:
    """The key numbers of a segment; each says where it came from."""
    return tag("dl", *map(_number, find_key_numbers(facts)), class_="numbers")


def _number(item: KeyNumber) -> Markup:
    value, _, unit = item.text.partition(" ")
    return tag(
        "div",
        tag("dt", item.label, title=DEFINITIONS[item.key].text),
        tag("dd", tag("span", value, class_="value"), tag("span", unit, class_="unit")),
        tag("dd", source_mark(item.source or "unavailable"), " ", item.note, class_="how"),
        class_="number first" if item.key == "step_time" else "number",
    )
