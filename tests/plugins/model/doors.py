"""What tests/fuzz and others ask of this leaf: its question of a segment, its chart and colours."""

from __future__ import annotations

from pathlib import Path

import strategy_model
from strategy_model.picture import model_picture

OF_A_SEGMENT = (model_picture,)
COLOURS = {Path(strategy_model.__file__).with_name("chart.py"): {"devices"}}
CHARTS = {"placement": ("captured", 1)}
