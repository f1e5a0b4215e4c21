"""One captured step as a film: who does what at each moment, and what travels between whom.

    steps = film_steps(profile)
    scene = make_scene(profile, usual_step(profile, steps))

A scene holds recorded times only. `export` shows it as a page.
"""

from __future__ import annotations

from strategy_film.build import make_scene
from strategy_film.scene import Scene
from strategy_film.steps import (
    FilmStep,
    film_steps,
    usual_step,
    why_no_film,
)

__all__ = [
    "FilmStep",
    "Scene",
    "film_steps",
    "make_scene",
    "usual_step",
    "why_no_film",
]
