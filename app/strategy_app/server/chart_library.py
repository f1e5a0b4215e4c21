"""Starts the library that draws charts early: in another thread, and once a sentence is shown.

Streamlit starts it when the first chart arrives, which the server sends after the first sentence
had time to appear (`widgets.chart`). The browser uses that time: it starts the library once
sentence, key numbers and findings are there and nothing has been added for a moment.

Most of its start is compiling. While a file loads, a browser compiles it in another thread, but not
the functions in it, except those in parentheses: it compiles each of the others when it is first
called, on the page's only thread. The library is one function of 4.7 MB.
"""

from __future__ import annotations

import re
from pathlib import Path

SENTENCE = ".lab-headline"
QUIET_MS = 50
"""So long nothing must be added: key numbers and findings come in several messages."""

_BEGIN = re.compile(rb"typeof self<`u`\?self:\w,(?=\(\)=>\{)")
_LAST = b"return window.Plotly="
_END = re.compile(_LAST + rb"(\w),\1\}(?=\)\}\)\))")


def compiled_early(library: bytes) -> bytes:
    """Return the library's file with its function in parentheses; as it is if there is none."""
    begin, end = _BEGIN.search(library), _END.match(library, max(library.rfind(_LAST), 0))
    if not begin or not end:
        return library
    function = library[begin.end() : end.end()]
    return b"".join([library[: begin.end()], b"(", function, b")", library[end.end() :]])


def start_script(static: Path, name: str) -> str:
    """Return the script element for a page's head; empty if Streamlit has no such module.

    Args:
      static: Streamlit's folder of static files.
      name: that of the module, without its hash.
    """
    found = sorted((static / "static" / "js").glob(f"{name}.*.js"))
    if not found:
        return ""
    return f"""<script>
(() => {{
  let timer = null;
  const added = new MutationObserver(() => {{
    clearTimeout(timer);
    if (document.querySelector("{SENTENCE}")) timer = setTimeout(start, {QUIET_MS});
  }});
  const start = () => {{
    added.disconnect();
    import("./static/js/{found[0].name}");
  }};
  added.observe(document, {{childList: true, subtree: true}});
}})();
</script>"""
