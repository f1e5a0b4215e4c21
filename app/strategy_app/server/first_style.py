"""The style that a page has before Streamlit draws anything: nothing moves when its sidebar opens.

Streamlit draws the sidebar beside the page and its header and moves both aside. Here the sidebar
lies below the header and above the page, whose elements leave its width free. Each element has that
space itself: the page's own block, which stays when its content is replaced, does not move.
The form of a new run has no sidebar, but Streamlit keeps an empty one beside it after a run, and
opens the next run's before the form has gone: not shown there.
Each page has the full window width from the start, not only after its script sets it.
Headings have their padding, less than Streamlit's: answers are in sight at 1280x720.
Fields above what is read, pickers of a run and key numbers have their height before the browser has
loaded them, and so has what a form says above its fields. On a phone, where most of a page is below
such parts, the rest comes from top to bottom: nothing is drawn below a part without its height.
Apply, the button of a running run's knobs, stays at the window's lower edge if they reach below it.
A table has its height before the browser has loaded what draws it, and what is for narrow or wide
windows alone is hidden in the others from the start.

Both rules with `:has` begin at the sidebar. Begun at `.stApp`, each element that a page adds makes
the browser compute the styles of all others again, 200 times in a first visit.
"""

from __future__ import annotations

NARROW = "48rem"
"""Widest window that shows lists instead of tables."""
RESERVED_ROWS = 30
"""So many rows of a table are reserved at most."""
_WIDTH = "300px"
_HEADER = "3.75rem"
_SIDEBAR = "[data-testid=stSidebar]"
_BESIDE_FORM = ":has(~ * .st-key-run_button)"
_OPEN = f"{_SIDEBAR}[data-collapsed=false]:not({_BESIDE_FORM})"
ROW_PX = 35
_LATE = (
    "[data-testid=stSkeleton]"
    ':not(.st-key-run_picker *, .st-key-page_row *, [class*="st-key-wide_"] *)'
)
"""What Streamlit draws for a part whose script is not loaded: it has another height."""


_BARS = (
    ("#008CFA", 12, 7, 6),
    ("#DC6E00", 7, 20, 6),
    ("#008CFA", 18, 7, 12),
    ("#DC6E00", 2, 26, 12),
    ("#008CFA", 9, 7, 18),
    ("#DC6E00", 10, 17, 18),
)
"""The bars of the lab's mark, as in `icon.svg`: colour, width, and distances from left and top."""
_MARK = ", ".join(
    f"linear-gradient({colour},{colour}) {left}px {top}px/{width}px 4px no-repeat"
    for colour, width, left, top in _BARS
)
"""Drawn by style: Streamlit's own logo moves into the sidebar, over its title."""


def grid_px(num_rows: float) -> int:
    """Height of a grid of so many rows below its head."""
    return round(3 + ROW_PX * (1 + num_rows))


_RESERVED = "\n".join(
    f'[class*="st-key-grid_rows_{rows:02d}_"] {{min-height:{grid_px(rows)}px}}'
    for rows in range(1, RESERVED_ROWS + 1)
)
"""By the key of a table's place, which names its rows (`widgets.table`)."""
FIRST_STYLE = f"""
.stMain [data-testid=stMainBlockContainer] {{max-width:none !important; padding-top:4.5rem}}
[data-testid=stHeader]::before {{content:"Strategy Lab"; flex:none; white-space:nowrap;
  background:{_MARK}, #10151C; color:#FFFFFF; font-size:.9rem; font-weight:600; line-height:28px;
  padding:0 .6rem 0 36px; margin:0 .25rem 0 1rem; border-radius:.35rem}}
[data-testid=stHeading] h1 {{padding:0 0 0.25rem !important}}
[data-testid=stHeading] h2 {{padding:0.5rem 0 0.25rem !important}}
.st-key-runs_filter, [class*="st-key-search_"], .st-key-ops_search {{min-height:4.25rem}}
[class*="st-key-source_of_"] {{min-height:3.75rem}}
/* The row of links says where one is; the title is for screen readers and the outline. */
.st-key-page_row > [data-testid=stLayoutWrapper]:first-child {{position:absolute; width:1px;
  height:1px; overflow:hidden; clip-path:inset(50%)}}
.st-key-page_row {{row-gap:0.5rem !important}}
.st-key-page_modes {{margin-left:0.75rem; padding-left:0.75rem;
  border-left:1px solid color-mix(in srgb, currentColor 25%, transparent)}}
.glossary {{margin:0; padding:0}} .glossary dt {{font-weight:600; margin-top:0.75rem}}
.glossary dd {{margin:0; max-width:60rem}}
.st-key-run_picker {{min-height:2.5rem}}
.st-key-pick_a, .st-key-pick_b {{min-height:4.25rem}}
@media not (max-width:{NARROW}) {{ .st-key-run_actions {{min-height:2.5rem}} }}
.st-key-form_head {{min-height:5.1rem}}
.st-key-sweep_head {{min-height:8.6rem}}
.st-key-measured_gain a p {{text-decoration:underline}}
/* Room for the cause, which comes later; what takes more is cut: the page Cause has all of it.
   Before the first step it is a sentence. The rest of the room is then the live view's, which stays
   where it is when the room comes. */
.stApp {{--cause-room:18rem; --cause-sentence:4.25rem}}
.st-key-cause_so_far {{position:relative; z-index:1; min-height:var(--cause-room);
  margin-bottom:calc(var(--cause-sentence) - var(--cause-room))}}
[data-first-step-awaited] .st-key-cause_so_far
  {{min-height:var(--cause-sentence); margin-bottom:0}}
.st-key-cause_so_far :is(.lab-said, .lab-headline b) {{display:-webkit-box; overflow:hidden;
  -webkit-box-orient:vertical; -webkit-line-clamp:5}}
.st-key-cause_so_far .lab-headline b {{-webkit-line-clamp:3}}
:is(.st-key-cause, .st-key-cause_so_far) {{gap:.5rem}}
:is(.st-key-cause, .st-key-cause_so_far) .lab-headline {{font-size:1.2rem; margin:0}}
/* As Streamlit places a link whose script is loaded; before that, its place is taller. */
.st-key-page_row [data-testid=stElementContainer] {{height:2rem !important;
  margin:-6px 0 !important}}
[class*="st-key-why_answer"] {{display:grid !important; gap:0 1rem !important;
  grid-template:"numbers numbers" auto "lines findings" auto "parts findings" 1fr
    / minmax(0,1fr) minmax(0,1fr)}}
.st-key-why_answer {{grid-template-rows:minmax(4.4rem,auto) auto 1fr}}
[class*="st-key-why_answer"] > * {{display:contents !important}}
[class*="st-key-why_answer"] > * > * {{margin-bottom:var(--why-gap, 1rem)}}
.st-key-why_lines {{grid-area:lines}}
.st-key-why_findings {{grid-area:findings}}
.st-key-why_parts {{grid-area:parts}}
.st-key-first_numbers {{grid-area:numbers}}
{_RESERVED}
@media (max-width:{NARROW}) {{
  [data-testid=stExpandSidebarButton]::after {{content:"Menu"; font-size:.9rem}}
  button kbd {{display:none !important}}
  .stMain [data-testid=stMainBlockContainer] {{padding-top:4.1rem}}
  [data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock] {{gap:.75rem}}
  [data-testid=stHeading] h2 {{font-size:1.1rem !important; padding:0 0 .75rem !important}}
  .st-key-page_modes {{margin-left:0; padding-left:0; border-left:none}}
  /* A line of its own from the beginning: links are narrower before their script is loaded. */
  .st-key-page_row > [data-testid=stLayoutWrapper]:has(> .st-key-page_modes) {{flex-basis:100%}}
  [class*="st-key-wide_"], [data-testid=stLayoutWrapper]:has(> [class*="st-key-wide_"])
    {{display:none !important}}
  /* Nothing moves: what is below a part that has no height yet comes after it. */
  :is([data-testid=stVerticalBlock], [data-testid=stHorizontalBlock]) > :has({_LATE}) ~ *
    {{visibility:hidden}}
  [data-testid=stMarkdown] > div, [data-testid=stWidgetLabel] {{visibility:inherit !important}}
  [class*="st-key-why_answer"]
    {{grid-template:"lines" "findings" "numbers" "parts" / minmax(0,1fr); --why-gap:.5rem}}
  [class*="st-key-why_answer"] [data-testid=stVerticalBlock] {{gap:.5rem !important}}
  [class*="st-key-finding_"] {{padding:.5rem .75rem !important}}
  [class*="st-key-finding_"] :is([data-testid=stHorizontalBlock], [data-testid=stColumn]:first-child
    > [data-testid=stVerticalBlock]) {{gap:.25rem !important}}
  [class*="st-key-finding_"] p {{font-size:.9rem !important; line-height:1.45}}
  .stApp {{--cause-room:25.2rem; --cause-sentence:6.4rem}}
  .st-key-run_head [data-testid=stColumn] {{min-width:9.5rem !important; flex:1 1 0 !important}}
  .st-key-run_head [data-testid=stColumn]:first-child {{flex:1 1 auto !important;
    min-width:0 !important; max-width:100% !important; width:auto !important}}
  /* Tags and groups are beside each other: the list of runs begins on the first half. */
  .st-key-runs_filter [data-testid=stColumn]:not(:first-child)
    {{min-width:0 !important; flex:1 1 7rem !important}}
  .st-key-page_row {{row-gap:0.75rem !important}}
  /* One line for what leads to other doors, one for links, one for buttons: the list stays. */
  .st-key-more_runs {{flex-basis:100%}}
  .st-key-run_actions {{min-height:5.25rem}}
  .st-key-form_head {{min-height:13.5rem}} .st-key-sweep_head {{min-height:10.2rem}}
  .st-key-run_actions [data-testid=stHorizontalBlock] {{gap:0.3rem}}
  .st-key-run_actions button {{padding-inline:0.5rem}}
  /* On a phone A and B are below each other, and the button that swaps them is beside both. */
  .st-key-sides [data-testid=stHorizontalBlock]
    {{display:grid; grid-template:"a swap" "b swap" / 1fr 3rem; gap:0.5rem}}
  .st-key-sides [data-testid=stColumn] {{width:auto !important; min-width:0 !important}}
  .st-key-sides [data-testid=stColumn]:nth-child(2)
    {{grid-area:swap; display:flex; flex-direction:column; justify-content:center}}
}}
@media not (max-width:{NARROW}) {{
  [class*="st-key-narrow_"], [data-testid=stLayoutWrapper]:has(> [class*="st-key-narrow_"])
    {{display:none !important}}
}}
@media (min-width: 769px) {{
  .stMain [data-testid=stMainBlockContainer] {{padding-inline:2.5rem}}
  [data-testid=stSidebar] {{position:absolute !important; top:{_HEADER} !important;
    height:calc(100% - {_HEADER}) !important; z-index:1000}}
  [data-testid=stSidebarHeader] {{position:absolute; right:0.75rem; z-index:1}}
  [data-testid=stSidebarUserContent] {{padding:0.75rem 0 1rem !important}}
  [data-testid=stSidebarUserContent] [data-testid=stVerticalBlock] {{gap:0.5rem}}
  {_SIDEBAR}{_BESIDE_FORM} {{display:none}}
  .st-key-key_numbers {{min-height:7.2rem}}
  .st-key-first_numbers {{min-height:4.4rem}}
  [data-testid=stSidebarResizeHandle] {{display:none}}
  /* Apply stays in sight below knobs that reach further than the window. */
  [data-testid=stSidebarContent] {{scroll-padding-bottom:4rem}}
  [data-testid=stSidebarContent], [data-testid=stSidebarUserContent],
  [data-testid=stSidebarUserContent] > div,
  [data-testid=stSidebarUserContent] > div > [data-testid=stVerticalBlock],
  {_SIDEBAR} .st-key-apply_button {{background-color:inherit}}
  {_SIDEBAR} .st-key-apply_button {{position:sticky; bottom:0; z-index:2;
    padding:0.25rem 0 0.5rem; margin:-0.25rem 0 -0.5rem}}
  {_OPEN} ~ * [data-testid=stMainBlockContainer] > * > * {{padding-left:{_WIDTH}}}
}}
"""
