"""Markup: whatever text says, it stays text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from strategy_lab.profiles.exports.report.markup import Markup, escape, join, json_block, tag


class _Reader(HTMLParser):
    """What a browser makes of it: the tags and the text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def test_text_is_escaped_and_markup_is_not() -> None:
    inner = tag("b", "<x>")
    assert tag("p", "a & b", inner) == "<p>a &amp; b<b>&lt;x&gt;</b></p>"
    assert isinstance(join("a"), Markup)


def test_attributes() -> None:
    made = tag("input", class_="a", data_x='"quoted"', hidden=True, title=None, checked=False)
    assert made == '<input class="a" data-x="&quot;quoted&quot;" hidden>'


def test_what_hides_or_turns_text_is_shown() -> None:
    assert escape("a\u202eb\u2066c\x00d\u2028e") == "a·b·c·d·e"


@given(st.text())
def test_no_text_becomes_a_tag(text: str) -> None:
    read = _Reader(tag("p", text, title=text))
    assert read.tags == ["p"]
    assert read.attributes == [("title", read.attributes[0][1])]


@given(st.recursive(st.text(), lambda inner: st.dictionaries(st.text(), inner, max_size=3)))
def test_contents_cannot_end_a_json_block(document: object) -> None:
    block = json_block("data", document)
    assert re.fullmatch(
        r'<script type="application/json" id="data">[^<>&\u2028\u2029]*</script>', block
    )
    assert json.loads(block[block.index(">") + 1 : block.rindex("<")]) == document
