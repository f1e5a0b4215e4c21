"""Recorded runs that come with the lab, so that its pages have something to show at once.

`late-replica.zip`: `strategy-lab run --strategy mirrored --devices cpu:4 --steps 150
--inject delay:replica=2,ms=60`. `slow-input.zip`: `strategy-lab trace train.py`, a `fit` whose data
comes from a Python generator. `gpu.zip`: `strategy-lab import` of a profile that PyTorch's project
publishes (pytorch/kineto, BSD-3-Clause): ResNet-50 on one GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from strategy_profiles.importers import import_profile

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Example:
    """A recorded run in a ZIP file."""

    name: str
    """Of the file, and of the run after `example-`."""
    title: str


EXAMPLES = (
    Example("late-replica", "One of four replicas is late"),
    Example("slow-input", "Keras fit waits for its data"),
    Example("gpu", "A profile of a GPU, imported"),
)


def unpack(example: Example, runs: Path) -> Path:
    """Return the example's run folder in `runs`, where it is made unless it is there.

    Raises LabError if it cannot be written.
    """
    run = runs / f"example-{example.name}"
    return run if run.exists() else import_profile(FOLDER / f"{example.name}.zip", run)
