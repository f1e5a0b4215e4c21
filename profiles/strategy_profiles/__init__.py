"""Runs on disk: what was asked, what happened, what it means. No TensorFlow, no Streamlit.

profile = strategy_profiles.load("runs/mine")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strategy_profiles.analysed import AnalysedProfile as Profile
    from strategy_profiles.analysed import load as load

__all__ = ["Profile", "load"]


def __getattr__(name: str) -> Any:
    """`Profile` and `load` on first use: who only writes events needs no Arrow."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from strategy_profiles import analysed

    return analysed.AnalysedProfile if name == "Profile" else analysed.load
