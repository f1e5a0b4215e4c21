"""The page of a recording needs nothing else and runs nothing of the recording."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from strategy_contexts.stepper import page
from tests.profiles.exports.test_hostile_names import NAMES, Structure

HOSTILE = "</script><script>alert(1)</script>\u2028<img src=x onerror=alert(2)>"


def recording(text: str = "A title") -> dict[str, Any]:
    return {
        "title": text,
        "text": text,
        "source": f"# {text}\n",
        "strategy": "MirroredStrategy",
        "devices": [text],
        "trace": {"entries": [], "printed": []},
        "error": None,
    }


def test_the_page_asks_for_nothing_from_outside() -> None:
    document = page(recording())
    assert "default-src 'none'" in html.unescape(document)
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", document)


def test_text_of_a_recording_stays_text() -> None:
    document = page(recording(HOSTILE))
    assert "alert(1)</script>" not in document
    assert "<img" not in document
    assert document.count("</script>") == page(recording()).count("</script>")


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_page_has_no_element_that_it_would_not_have_with_another_name(name: str) -> None:
    assert Structure(named(name)).found <= Structure(named("name")).found


def named(name: str) -> str:
    return page(
        {
            "title": name,
            "text": name,
            "source": f"# {name}",
            "strategy": name,
            "devices": [name],
            "trace": {"entries": [], "printed": []},
            "error": name,
        }
    )
