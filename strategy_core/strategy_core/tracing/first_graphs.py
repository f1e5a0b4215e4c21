"""Graphs of functions that train, collected at their first call for recordings that begin later.

TensorFlow gives out a function's placed graph only when the function is first called. A program
that is attached to, and a notebook, record later than that.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from strategy_core.private_tf import tracing as private_tf


class FirstGraphs:
    """The RunMetadata of each function's first call. They live as long as their functions."""

    def __init__(self) -> None:
        self._of: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._open: Any = None
        """The function whose graph is being collected."""

    def __contains__(self, owner: Any) -> bool:
        return owner in self._of

    def begin(self, owner: Any) -> None:
        """Collect graphs until `end`, unless this is being done or was done for `owner`."""
        if owner is None or self._open is not None or owner in self:
            return
        if private_tf.begin_graph_collection():
            self._open = owner

    def end(self, owner: Any) -> None:
        """Keep the graphs that were collected since `begin`."""
        if owner is None or self._open is not owner:
            return
        self._open = None
        for metadata in private_tf.end_graph_collection():
            for graphs in metadata.function_graphs:
                graphs.ClearField("pre_optimization_graph")  # half the size, and not needed
            self._of[owner] = metadata

    def abandon(self) -> None:
        """Collect nothing more: the program does so itself."""
        if self._open is not None:
            self._open = None
            private_tf.end_graph_collection()

    def of(self, owners: Iterable[Any]) -> Any:
        """The graphs of these functions in one RunMetadata; None if none is known."""
        known = [self._of[owner] for owner in owners if owner in self._of]
        if len(known) < 2:
            return known[0] if known else None
        merged = type(known[0])()
        for metadata in known:
            merged.MergeFrom(metadata)
        return merged
