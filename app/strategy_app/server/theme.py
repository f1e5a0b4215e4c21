"""Light and dark theme: background, lines and text.

The colours of data are those of `strategy_profiles.reporting.palette`.
"""

from __future__ import annotations

from strategy_profiles.reporting.palette import REPLICA_COLOURS

LIGHT = {
    "primaryColor": "#0060A0",
    "backgroundColor": "#FFFFFF",
    "secondaryBackgroundColor": "#F3F5F8",
    "textColor": "#16202B",
    "borderColor": "#D5DBE3",
    "linkColor": "#0060A0",
}
DARK = {
    "primaryColor": "#2878B5",
    "backgroundColor": "#10151C",
    "secondaryBackgroundColor": "#1A212B",
    "textColor": "#E8EDF3",
    "borderColor": "#36414F",
    "linkColor": "#7CC0F0",
}
SHARED = {
    "font": "sans-serif",
    "headingFontSizes": ["1.75rem", "1.5rem", "1.35rem", "1.15rem"],
    "codeFont": "monospace",
    "baseRadius": "0.4rem",
    "paddingTop": "1rem",
    "paddingBottom": "4rem",
    "showWidgetBorder": True,
    "chartCategoricalColors": list(REPLICA_COLOURS),
}


def theme_options() -> dict[str, object]:
    """The theme as Streamlit options; a viewer's own choice of light or dark wins."""
    options: dict[str, object] = {f"theme.{key}": value for key, value in SHARED.items()}
    for name, colours in (("light", LIGHT), ("dark", DARK)):
        options |= {f"theme.{name}.{key}": value for key, value in colours.items()}
    return options
