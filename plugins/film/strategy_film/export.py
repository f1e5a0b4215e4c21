"""A captured step as a film: one HTML file, which any browser plays offline."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from strategy_film import Scene, film_steps, make_scene, usual_step, why_no_film
from strategy_profiles.errors import LabError
from strategy_profiles.exports import Format, StepPage
from strategy_profiles.reporting.document import content_policy, follow_theme, page, typefaces
from strategy_profiles.reporting.palette import PHASE_COLOURS, SERVING_COLOURS
from strategy_profiles.tables.store import Profile

_SCRIPTS = ("moments.js", "places.js", "stage.js", "track.js", "player.js")


def film_page(scene: Scene) -> str:
    """Return the self-contained page."""
    style, script = _assets()
    data = msgspec.to_builtins(scene) | {
        "colours": SERVING_COLOURS | PHASE_COLOURS,
    }
    return page(
        f"{scene.run}: step {scene.step} as a film",
        style,
        script,
        policy=content_policy(style, follow_theme(), script),
        first_script=follow_theme(),
        main="film",
        data_id="scene",
        data=data,
    )


@cache
def _assets() -> tuple[str, str]:
    """Return the style and the script; its files share one scope."""
    folder = files("strategy_film") / "assets"
    scripts = "\n".join((folder / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    style = typefaces() + (folder / "film.css").read_text(encoding="utf-8")
    return style, f'"use strict";\n(() => {{\n{scripts}\n}})();'


def film_script() -> str:
    """Return the script of the page, for the policy of a page that frames it."""
    return _assets()[1]


def step_page(profile: Profile, step: int | None = None) -> str:
    """Return the page of a step by its number, or of the usual one.

    Raises LabError if the run has no such step to film.
    """
    steps = film_steps(profile)
    if not steps:
        problem, advice = why_no_film(profile)
        raise LabError(problem.rstrip("."), advice=advice.rstrip("."))
    matching = [item for item in steps if item.step == step]
    if step is not None and not matching:
        known = ", ".join(str(item.step) for item in steps[:10])
        raise LabError(f"Step {step} of this run is not captured", advice=f"Choose one of {known}")
    return film_page(make_scene(profile, matching[0] if matching else usual_step(profile, steps)))


def _write(profile: Profile, path: Path) -> None:
    path.write_text(step_page(profile), encoding="utf-8", errors="replace")


FORMAT = Format(
    name="film",
    title="Step film",
    description="One captured step in slow motion: an HTML page that plays offline.",
    suffix=".film.html",
    media_type="text/html",
    write=_write,
    step_page=StepPage(step_page, film_script),
)
