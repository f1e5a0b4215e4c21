"""The link with most bytes: of one source, with its equals counted."""

from __future__ import annotations

from strategy_profiles.analysis.busiest_link import (
    BusiestLink,
    busiest_link,
    heaviest_source,
)
from strategy_profiles.analysis.communication import Traffic


def sent(send: str, recv: str, num_bytes: float | None, source: str = "measured") -> Traffic:
    return Traffic(send, recv, num_bytes, 1.0, None, source)


def test_the_first_of_the_links_with_most_bytes_is_named_and_the_others_are_counted() -> None:
    traffic = [sent("a", "b", 8.0), sent("b", "c", 24.0), sent("c", "a", 24.0)]
    assert busiest_link(traffic, "measured") == BusiestLink("b", "c", 24.0, 1)


def test_bytes_of_different_sources_are_not_compared() -> None:
    traffic = [sent("a", "b", 8.0), sent("a", "b", 6.0), sent("b", "a", 12.0, "ring model")]
    assert heaviest_source(traffic) == "measured"
    assert busiest_link(traffic, "ring model") == BusiestLink("b", "a", 12.0, 0)


def test_unknown_sizes_have_no_busiest_link() -> None:
    assert busiest_link([sent("a", "b", None)], "measured") is None
    assert heaviest_source([]) is None
