"""The lecturer's page and the answer page: each one HTML document that loads nothing else."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from strategy_profiles.reporting.document import content_policy, page, typefaces


@cache
def document(name: str, title: str, *also: str) -> tuple[str, str]:
    """Return a page of `assets` and its content security policy.

    `also` are the scripts of documents that the page shows in frames.
    """
    elements = (files("strategy_app.frontend") / "shared" / "dom.js").read_text(encoding="utf-8")
    folder = files("strategy_contexts.lecture") / "assets"
    own = (folder / f"{name}.js").read_text(encoding="utf-8")
    script = f"{elements.replace('export function', 'function')}\n{own}"
    shared = typefaces() + (folder / "shared.css").read_text(encoding="utf-8")
    style = shared + (folder / f"{name}.css").read_text(encoding="utf-8")
    html = page(title, style, script, policy="", main="page", is_served=True)
    policy = content_policy(style, script, *also)
    if also:  # a frame has the page's policy, too, and these scripts set styles of elements
        policy = re.sub("style-src [^;]+", "style-src 'unsafe-inline'", policy)
    return html, f"{policy}; connect-src 'self'; img-src data:"
