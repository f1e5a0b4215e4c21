"""The page of a recording needs nothing else and runs nothing of the recording."""

from __future__ import annotations

import html
import re
from typing import Any

from strategy_contexts.stepper import page

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
