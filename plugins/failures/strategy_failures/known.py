"""The errors that are known by what causes them.

Each has a program in `tests/plugins/failures/programs.py` that fails by it. Nothing but the text
of TensorFlow tells errors apart, and a release may change it: an error that no entry matches is
shown as TensorFlow wrote it, with its replica, layer, line and step. The first entry that matches
counts.
"""

from __future__ import annotations

from strategy_failures.clusters import CLUSTERS
from strategy_failures.contexts import CONTEXTS
from strategy_failures.graphs import GRAPHS
from strategy_failures.inputs import INPUTS
from strategy_failures.models import MODELS
from strategy_failures.shapes import SHAPES

KNOWN = (*INPUTS, *SHAPES, *CONTEXTS, *GRAPHS, *MODELS, *CLUSTERS)
