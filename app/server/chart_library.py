"""Starts the library that draws charts once the first sentence of a page is on screen.

The library takes 0.7 s to start, on the page's only thread, and Streamlit starts it when the first
chart arrives, which the server sends after the sentence had time to appear (`widgets.chart`). The
browser uses that time: it starts the library once sentence, key numbers and findings are there and
nothing has been added for a moment.
"""

from __future__ import annotations

from pathlib import Path

SENTENCE = ".lab-headline"
QUIET_MS = 50
"""So long nothing must be added: key numbers and findings come in several messages."""


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
