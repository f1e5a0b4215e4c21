"""Installed as `profiles`, the short name for scripts: `profiles.load("runs/mine")`.

It has these two names alone. A project's own `profiles` comes before it, which harms nothing: the
lab itself never imports this name.
"""

from strategy_lab.profiles import Profile, load

__all__ = ["Profile", "load"]
