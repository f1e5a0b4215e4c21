"""Colours that stand side by side differ clearly on any ground, also for colour-blind readers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from strategy_app.charts import runs
from strategy_app.charts.runs import together
from strategy_app.server.theme import DARK, LIGHT
from strategy_profiles.reporting.palette import (
    DEVICE_COLOURS,
    GREY,
    PHASE_COLOURS,
    REPLICA_COLOURS,
    RUN_COLOURS,
    SERIES_COLOUR,
    SERVING_COLOURS,
    SIDE_COLOURS,
    SPAN_COLOURS,
    ink_on,
    luminance,
    replica_colour,
)
from strategy_profiles.tables.schema import CATEGORIES
from tests.plugins.leaves import from_doors

GRAPHICS, TEXT = 3.0, 4.5
"""Least contrast to their ground, of graphics and of text (WCAG 2.2, 1.4.11 and 1.4.3)."""
NOTICEABLE = 4.5
"""Least distance in OKLab, times 100; about 2 is just noticeable."""
CLEAR = 6.4
"""The same between colours of one stacked bar, and of the two sides of a comparison."""
DISCERNIBLE = 3.5
"""The same where 16 replicas have colours: more are not as far apart and read on both grounds."""
MANY_REPLICAS = 6
USUAL_REPLICAS = 4
"""Most runs have no more: their colours differ at first sight."""
AT_FIRST_SIGHT = {"usual": 14.0, "deuteranopia": 7.5, "protanopia": 7.5}
GROUNDS = [
    theme[key] for theme in (LIGHT, DARK) for key in ("backgroundColor", "secondaryBackgroundColor")
]
REPORT_GROUNDS = ["#ffffff", "#f6f7f9", "#14171b", "#1d2127"]
# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
SIGHT = {
    "usual": np.eye(3),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}
CHARTS = Path(runs.__file__).parent
FAMILIES = {
    "phases": {"PHASE_COLOURS", "SERVING_COLOURS", "SPAN_COLOURS"},
    "replicas": {"REPLICA_COLOURS", "replica_colour"},
    "runs": {"RUN_COLOURS", "run_colour"},
    "devices": {"DEVICE_COLOURS", "device_colour"},
    "sides": {"SIDE_COLOURS"},
}
DRAWS = {
    "comparing": {"sides"},
    "lines": {"devices"},
    "memory": {"devices"},
    "mesh": {"replicas"},
    "runs": {"runs", "sides"},
    "steps": set(),
    "waiting": {"phases", "replicas"},
}
OF_LEAVES = {path: drawn for colours in from_doors("COLOURS") for path, drawn in colours.items()}
OWN_COLOURS = {"matrix": {"#CFE3F3", "#0B3C6F"}}
"""A scale from few to many bytes."""
HEX = re.compile("#[0-9A-Fa-f]{6}")
STACKED = {"phases": PHASE_COLOURS, "parameter servers": SERVING_COLOURS, "sides": SIDE_COLOURS}
OTHERS = {
    "replicas": REPLICA_COLOURS,
    "runs": RUN_COLOURS,
    "sides": tuple(SIDE_COLOURS.values()),
    "devices": DEVICE_COLOURS,
}


@pytest.mark.parametrize("sight", SIGHT)
class TestDistances:
    @pytest.mark.parametrize("colours", STACKED.values(), ids=STACKED)
    def test_parts_of_one_bar_differ_clearly(self, colours: dict[str, str], sight: str) -> None:
        assert least_among(colours.values(), sight) >= CLEAR

    @pytest.mark.parametrize("others", OTHERS.values(), ids=OTHERS)
    def test_no_phase_looks_like_something_else(self, others: tuple[str, ...], sight: str) -> None:
        phases = {*PHASE_COLOURS.values(), *SERVING_COLOURS.values(), *SPAN_COLOURS.values()}
        assert least_between(phases, others, sight) >= NOTICEABLE

    def test_replicas_differ_from_each_other_sides_devices_and_runs(self, sight: str) -> None:
        few = REPLICA_COLOURS[:MANY_REPLICAS]
        for replicas, least in ((few, NOTICEABLE), (REPLICA_COLOURS, DISCERNIBLE)):
            assert least_among(replicas, sight) >= least
            for others in (SIDE_COLOURS.values(), DEVICE_COLOURS, RUN_COLOURS):
                assert least_between(replicas, others, sight) >= least

    def test_replicas_of_most_runs_differ_at_first_sight(self, sight: str) -> None:
        assert least_among(REPLICA_COLOURS[:USUAL_REPLICAS], sight) >= AT_FIRST_SIGHT[sight]

    def test_runs_differ_from_each_other_and_sides(self, sight: str) -> None:
        assert least_among(RUN_COLOURS, sight) >= CLEAR
        assert least_between(RUN_COLOURS, SIDE_COLOURS.values(), sight) >= NOTICEABLE

    def test_devices_differ_from_each_other(self, sight: str) -> None:
        assert least_among(DEVICE_COLOURS, sight) >= CLEAR


def test_sixteen_replicas_have_a_colour_each() -> None:
    assert len({replica_colour(replica) for replica in range(16)}) == 16


@pytest.mark.parametrize(
    "colour",
    sorted(
        {*PHASE_COLOURS.values(), *SERVING_COLOURS.values(), *REPLICA_COLOURS, *RUN_COLOURS}
        | {*SIDE_COLOURS.values(), SERIES_COLOUR, GREY}
    ),
)
def test_a_colour_stands_out_on_every_ground_and_text_on_it_is_readable(colour: str) -> None:
    assert min(contrast(colour, ground) for ground in GROUNDS + REPORT_GROUNDS) >= GRAPHICS
    assert contrast(colour, ink_on(colour)) >= TEXT


def test_every_phase_has_a_colour() -> None:
    assert set(CATEGORIES) <= set(PHASE_COLOURS)


@pytest.mark.parametrize(
    "path",
    [*sorted(CHARTS.glob("*.py")), *OF_LEAVES],
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_a_chart_takes_only_the_colours_of_what_it_draws(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    taken = {family for family, owners in FAMILIES.items() if names & owners}
    assert taken <= OF_LEAVES.get(path, DRAWS.get(path.stem, set()))
    literals = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    own = {each for each in literals if isinstance(each, str) and HEX.fullmatch(each)}
    assert own <= OWN_COLOURS.get(path.stem, set())


def test_the_lines_of_runs_are_distinguished() -> None:
    curve = np.arange(3.0), np.arange(3.0)
    chart = together({f"run-{number}": curve for number in range(12)}, title="loss", unit="")
    assert {line.line.color for line in chart.data} == set(RUN_COLOURS)
    assert len({(line.line.color, line.line.dash) for line in chart.data}) == 12


def least_among(colours: Iterable[str], sight: str) -> float:
    colours_seen = as_seen(colours, sight)
    distances = np.linalg.norm(colours_seen[:, None] - colours_seen[None], axis=-1)
    return float(distances[~np.eye(len(colours_seen), dtype=bool)].min())


def least_between(some: Iterable[str], others: Iterable[str], sight: str) -> float:
    pairs = as_seen(some, sight)[:, None] - as_seen(others, sight)[None]
    return float(np.linalg.norm(pairs, axis=-1).min())


def as_seen(colours: Iterable[str], sight: str) -> npt.NDArray[np.float64]:
    """The colours in OKLab (Ottosson 2020) times 100, as a person with this sight sees them."""
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ SIGHT[sight].T, 0, 1)
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    lab_values: npt.NDArray[np.float64] = np.cbrt(linear @ cones.T) @ lab.T * 100
    return lab_values


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)
