"""Pages from templates: whatever text says, it stays text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_profiles.reporting.document import page


class _Reader(HTMLParser):
    """What a browser makes of it: the tags and the attributes."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def _page(text: str, data: object = None) -> str:
    return page(text, "p{}", "f('<b>')", policy="none", main=text, data_id="d", data=data)


def test_text_is_escaped_and_the_pages_own_script_is_not() -> None:
    made = _page("a < b & 'c'")
    assert "<title>a &lt; b &amp; &#39;c&#39;</title>" in made
    assert "<script>f('<b>')</script>" in made


def test_what_hides_or_turns_text_is_shown() -> None:
    assert "<title>a·b·c·d·e</title>" in _page("a\u202eb\u2066c\x00d\u2028e")


@pytest.mark.slow
@given(st.text())
def test_no_text_becomes_a_tag_or_an_attribute(text: str) -> None:
    plain, read = _Reader(_page("plain")), _Reader(_page(text))
    assert read.tags == plain.tags
    assert [name for name, _ in read.attributes] == [name for name, _ in plain.attributes]


@pytest.mark.slow
@given(st.recursive(st.text(), lambda inner: st.dictionaries(st.text(), inner, max_size=3)))
def test_contents_cannot_end_a_json_block(document: object) -> None:
    block = re.search(
        r'<script type="application/json" id="d">([^<>&\u2028\u2029]*)</script>',
        _page("", document),
    )
    assert block is not None
    assert json.loads(block[1]) == document
