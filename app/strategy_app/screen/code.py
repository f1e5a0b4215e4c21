"""Lines of the program with their time, and a whole with its parts: HTML that is drawn at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

import streamlit as st

from strategy_app.widgets.text import as_html
from strategy_profiles.answers.answer import Code, CodeLine, Difference, Share, Shares
from strategy_profiles.reporting import units
from strategy_profiles.reporting.palette import ink_on

STYLE = """<style>
.lab-code {font-family:"Source Code Pro",monospace; font-size:.8rem; line-height:1.55;
  overflow-x:auto; border:1px solid color-mix(in srgb, currentColor 16%, transparent);
  border-radius:.4rem; padding:.4rem 0; margin:.1rem 0 .4rem}
.lab-code .file {padding:0 .7rem .2rem; opacity:.75; overflow-wrap:anywhere}
.lab-code .row {display:grid; grid-template-columns:4.9rem 3.2rem 2.4rem minmax(0,1fr)}
.lab-code .row > * {padding:0 .35rem; white-space:pre}
.lab-code .row .text {white-space:pre-wrap; overflow-wrap:anywhere}
.lab-code .ms, .lab-code .share, .lab-code .number {text-align:right;
  font-variant-numeric:tabular-nums}
.lab-code .near :is(.number, .text) {opacity:.7}
.lab-code .share {font-weight:600}
.lab-code .named {box-shadow:inset 3px 0 #D55E00; font-weight:600}
.lab-code .named :is(.number, .text) {opacity:1}
.lab-code a {color:inherit}
.lab-code .gap {padding:0 .7rem; opacity:.6}
.lab-code.diff > div {padding:0 .7rem; white-space:pre; min-width:100%; width:max-content}
.lab-code .gone {background:rgba(220,40,40,.16)}
.lab-code .new {background:rgba(20,150,60,.18)}
@media (max-width:48rem) {
  .lab-code .row {grid-template-columns:4.6rem 2.6rem 2rem minmax(0,1fr)}
  .lab-code .row:not(.most, .named) .text {white-space:pre; overflow:hidden; text-overflow:ellipsis}
  .lab-code :is(:is(.near:not(.most + *, :has(+ .most)), .little):not(.named), .gap,
    .part:not(:has(.lit, .named))) {display:none}
}
.lab-shares {display:flex; height:1.9rem; border-radius:.3rem; overflow:hidden; gap:1px;
  margin:.1rem 0 .3rem}
.lab-shares > div {min-width:2px; overflow:hidden; white-space:nowrap; padding:.3rem 0;
  font-size:.78rem; line-height:1.3rem; text-align:center}
.lab-legend {display:flex; flex-wrap:wrap; gap:.1rem .9rem; font-size:.8rem}
.lab-legend .key {display:inline-block; width:.7rem; height:.7rem; border-radius:.15rem;
  margin-right:.35rem}
</style>"""
_HEADS = ("---", "+++", "@@ ")
_KINDS = {"-": "gone", "+": "new"}
"""Class of a line of a diff by its first character."""
LABELLED = 0.2
"""Least share of a part that has its name on the bar."""
_LITTLE = 0.25
"""Part of the largest share up to which a phone leaves a line out."""
_HEAT = "220,110,0"
_COOLEST, _HOTTEST = 0.08, 0.48
"""Opacity of the ground of a line."""


def show_code(code: Code) -> None:
    """Draw the lines of each file; the more time a line takes, the warmer its ground.

    Lines that are too long go on below. What to do is to be in sight, too: of a phone only the
    one that takes most goes on, and lines with little time or far from that one are left out.

    A line that the headline names has a mark, also if little time passes there: where a run failed,
    or waits without end. The time of a line that calls steps is a link to the spans of one of them.
    """
    files = "".join(
        f'<div class="part"><div class="file">{as_html(name)}</div>'
        f"{''.join(_rows(lines, code.most))}</div>"
        for name, lines in code.files
    )
    region = f'tabindex="0" role="region" aria-label="{as_html(code.title)}"'
    st.html(f'{STYLE}<div class="lab-code" {region}>{files}</div>')


def _rows(lines: Sequence[CodeLine], most: float) -> Iterator[str]:
    indents = [_indent(each.text) for each in lines if each.text.strip()]
    margin, before = min(indents, default=0), lines[0].line - 1
    for each in lines:
        if each.line != before + 1:
            yield '<div class="gap">⋯</div>'
        before = each.line
        yield _row(each, margin, most)


def _row(each: CodeLine, margin: int, most: float) -> str:
    text = each.text[margin:]
    code = " " * _indent(text) + as_html(text)  # which takes the spaces away
    kind, ground, time, share = "near", "", "", ""
    if each.share is not None:
        opacity = _COOLEST + (_HOTTEST - _COOLEST) * each.share / most
        kind = (
            "lit most" if each.share == most else "lit" if each.share > _LITTLE * most else "little"
        )
        ground = f' style="background:rgba({_HEAT},{opacity:.2f})"'
        time, share = units.milliseconds(each.ms_per_step), units.share(each.share)
    kind += " named" if each.is_named else ""
    if each.step is not None and (run := st.query_params.get("run")):
        address = f"timeline?{urlencode({'run': run, 'step': each.step})}"
        hint = f"Step {each.step} on the timeline"
        time = f'<a href="{as_html(address)}" title="{hint}">{as_html(time)}</a>'
    else:
        time = as_html(time)
    cells = {"ms": time, "share": as_html(share), "number": each.line, "text": code}
    spans = "".join(f'<span class="{name}">{cell}</span>' for name, cell in cells.items())
    return f'<div class="row {kind}"{ground}>{spans}</div>'


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def show_difference(part: Difference) -> None:
    """Draw the lines of a diff: those of A on a red ground, those of B on a green one."""
    rows = "".join(map(_changed, part.lines))
    region = f'tabindex="0" role="region" aria-label="{as_html(part.title)}"'
    if rows:
        st.html(f'{STYLE}<div class="lab-code diff" {region}>{rows}</div>')


def _changed(line: str) -> str:
    kind = "file" if line[:3] in _HEADS else _KINDS.get(line[:1], "near")
    text = line[:1] + " " * _indent(line[1:]) + as_html(line[1:])
    return f'<div class="{kind}">{text}</div>'


def show_shares(shares: Shares) -> None:
    """Draw the parts as one bar, and name each with its share."""
    bar, legend = "".join(map(_part, shares.parts)), "".join(map(_entry, shares.parts))
    said = f'role="img" aria-label="{as_html(shares.title)}"'
    st.html(
        f'{STYLE}<div class="lab-shares" {said}>{bar}</div><div class="lab-legend">{legend}</div>'
    )


def _part(part: Share) -> str:
    name = as_html(part.title) if part.share >= LABELLED else ""
    style = f"flex:{part.share:.5f} 1 0; background:{part.colour}; color:{ink_on(part.colour)}"
    time = f"{units.share(part.share)}, {units.milliseconds(part.ms_per_step)} per step"
    hover = f"{as_html(part.title)} {as_html(time)}"
    return f'<div style="{style}" title="{hover}">{name}</div>'


def _entry(part: Share) -> str:
    key = f'<span class="key" style="background:{part.colour}"></span>'
    return f"<div>{key}{as_html(part.title)} <b>{as_html(units.share(part.share))}</b></div>"
