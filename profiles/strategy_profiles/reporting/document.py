"""HTML pages from Jinja2 templates: text is escaped, and a page runs only its own scripts."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from strategy_profiles.reporting import units
from strategy_profiles.reporting.definitions import DEFINITIONS
from strategy_profiles.reporting.palette import phase_name

_PROFILES = Path(__file__).parent.parent
_TYPEFACES = _PROFILES / "reporting/typefaces"
_CONTROLS = (*range(9), 11, 12, *range(14, 32), *range(127, 160), *range(0xD800, 0xE000))
_SEPARATORS_AND_DIRECTIONS = (0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_CODE = re.compile(r"`([^`]+)`")
_UNSEEN = dict.fromkeys((*_CONTROLS, *_SEPARATORS_AND_DIRECTIONS), "·")


def render(template: str, folder: Path = _PROFILES, **context: Any) -> str:
    """Return a template filled with values, named by its path below `folder`.

    It may include others by their paths there or below `strategy_profiles`. Every value is text and
    is escaped, unless it is `Markup`.
    """
    return _environment(folder).get_template(template).render(context)


def page(title: str, style: str, script: str, *, policy: str, **context: Any) -> str:
    """Return a page whose script draws everything; see `document.html` for the rest of its values.

    `style` and `script` are inlined as they are.
    """
    return render(
        "reporting/document.html",
        title=title,
        style=Markup(style),
        script=Markup(script),
        policy=policy,
        **context,
    )


def content_policy(style: str, *scripts: str) -> str:
    """Return the policy that allows exactly this inline style and these inline scripts."""
    allowed = " ".join(map(digest, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {digest(style)}; "
        "font-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def digest(content: str) -> str:
    """Return the source expression of a policy that allows an inline style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


@cache
def typefaces() -> str:
    """Return the style that brings Lab Sans and Lab Mono, the typefaces of the lab's own page.

    They are in the style itself: a page that was saved looks as in the lab, and loads nothing.
    """
    return "".join(
        f'@font-face {{font-family: "{name}"; font-weight: 400 700; '
        f'src: url("data:font/woff2;base64,{_base64(_TYPEFACES / file)}") format("woff2")}}\n'
        for name, file in (("Lab Sans", "lab-sans.woff2"), ("Lab Mono", "lab-mono.woff2"))
    )


def _base64(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()


@cache
def follow_theme() -> Markup:
    """Return the first script of a page that other pages of the lab show in a frame."""
    return Markup((_PROFILES / "reporting/follow_theme.js").read_text(encoding="utf-8"))


@cache
def _environment(folder: Path) -> Environment:
    made = Environment(
        loader=FileSystemLoader((folder, _PROFILES)),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    made.filters |= {
        "bandwidth": units.bandwidth,
        "coded": _coded,
        "ms": units.milliseconds,
        "number": units.number,
        "phase": phase_name,
        "rate": units.rate,
        "share": units.share,
        "size": units.size,
    }
    made.globals |= {"DEFINITIONS": DEFINITIONS, "MISSING": units.MISSING}
    return made


def _coded(text: str) -> Markup:
    """Escape a sentence, with names between backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(_visible(text)))))


def _visible(value: Any) -> Any:
    """Show control characters and direction overrides as a middle dot, and None as nothing."""
    if isinstance(value, Markup):
        return value
    return "" if value is None else str(value).translate(_UNSEEN)
