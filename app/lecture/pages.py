"""The lecturer's page and the answer page: each one HTML document that loads nothing else."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from strategy_lab.profiles.exports.content_policy import content_policy
from strategy_lab.profiles.exports.report.markup import Markup, join, tag


@cache
def document(name: str, title: str, *also: str) -> tuple[str, str]:
    """Return a page of `app/frontend/lecture` and its content security policy.

    `also` are the scripts of documents that the page shows in frames.
    """
    here = files("strategy_lab.app.frontend")
    elements = (here / "shared" / "dom.js").read_text(encoding="utf-8")
    own = (here / "lecture" / f"{name}.js").read_text(encoding="utf-8")
    script = f"{elements.replace('export function', 'function')}\n{own}"
    shared = (here / "lecture" / "shared.css").read_text(encoding="utf-8")
    style = shared + (here / "lecture" / f"{name}.css").read_text(encoding="utf-8")
    head = join(
        tag("meta", charset="utf-8"),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    body = join(tag("main", id="page"), tag("script", Markup(script), type="module"))
    page = tag("html", tag("head", head), tag("body", body), lang="en")
    policy = content_policy(style, script, *also)
    if also:  # a frame has the page's policy, too, and these scripts set styles of elements
        policy = re.sub("style-src [^;]+", "style-src 'unsafe-inline'", policy)
    return f"<!DOCTYPE html>\n{page}\n", f"{policy}; connect-src 'self'; img-src data:"
