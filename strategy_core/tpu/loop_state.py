"""The values that a loop or branch carries, as the flat list of tensors that TensorFlow wants.

A partitioned value is carried as its tiles and so stays partitioned. What layout a value has at
the end is only known once the body was emitted: `settle` emits it on trial until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorflow as tf

from strategy_core.tpu import private_tf
from strategy_core.tpu.sharded import Layout, Sharded, bounds

_MAX_TRIALS = 4
"""Each trial can only split more values, and chains of such are short."""


class LoopState:
    """Layout of each carried value, by its position; None is a tensor on core 0."""

    def __init__(self, expansion: Any, replicas: Sequence[int], carried: Iterable[int]) -> None:
        self._expansion = expansion
        self._replicas = list(replicas)
        self._carried = list(carried)
        self.layouts: dict[int, Layout | None] = dict.fromkeys(self._carried)
        self.shapes: dict[int, tf.TensorShape] = {}

    def start_from(self, initial: list[list[Any]]) -> None:
        """Take the layouts that the values come with."""
        self.layouts = {k: self._layout(initial[k]) for k in self._carried}

    def merge(self, values: list[list[Any]]) -> bool:
        """Let what is split at the end of a body be split all along; whether that was news."""
        before = dict(self.layouts)
        for k in self._carried:
            found = self._layout(values[k])
            mine = self.layouts[k]
            if found is not None and (mine is None or mine.is_replicated):
                self.layouts[k] = found
        return self.layouts != before

    def pack(self, values: list[list[Any]]) -> list[tf.Tensor]:
        """The carried values in their layouts, flat."""
        flat: list[tf.Tensor] = []
        for k in self._carried:
            layout = self.layouts[k]
            for replica in self._replicas:
                value = values[k][replica]
                if layout is None:
                    flat.append(self._expansion.whole(value, replica))
                else:
                    flat += self._expansion.groups[replica].reshard(value, layout).tiles
        return flat

    def unpack(self, flat: list[tf.Tensor]) -> dict[int, list[Any]]:
        """The carried values by position and replica, from their flat form."""
        rest = list(flat)
        found: dict[int, list[Any]] = {}
        for k in self._carried:
            layout = self.layouts[k]
            found[k] = [None] * self._expansion.num_replicas
            for replica in self._replicas:
                if layout is None:
                    found[k][replica] = rest.pop(0)
                else:
                    tiles = tuple(rest[: len(layout.coordinates)])
                    del rest[: len(tiles)]
                    found[k][replica] = Sharded(tiles, layout, self._shape(k))
        return found

    def invariants(self) -> list[tf.TensorShape]:
        """Static shape of each flat value."""
        shapes = []
        for k in self._carried:
            layout = self.layouts[k]
            for _ in self._replicas:
                if layout is None:
                    shapes.append(self.shapes[k])
                else:
                    shapes += [self._tile_shape(k, layout, c) for c in range(len(layout.coordinates))]
        return shapes

    def placeholders(self, initial: list[list[Any]]) -> list[list[Any]]:
        """Stand-ins for the carried values in a trial graph; the others as they are."""
        flat = [
            tf.compat.v1.placeholder_with_default(tensor, shape)
            if tensor.dtype not in (tf.variant, tf.resource)
            else tensor
            for tensor, shape in zip(self.pack(initial), self.invariants(), strict=True)
        ]
        now = self.unpack(flat)
        return [now.get(k, values) for k, values in enumerate(initial)]

    def _layout(self, values: list[Any]) -> Layout | None:
        value = values[self._replicas[0]]
        return value.layout if isinstance(value, Sharded) else None

    def _shape(self, k: int) -> tuple[int | None, ...]:
        return tuple(self.shapes[k].as_list())

    def _tile_shape(self, k: int, layout: Layout, core: int) -> tf.TensorShape:
        if self.shapes[k].rank is None:
            return tf.TensorShape(None)
        sizes: list[int | None] = []
        for size, splits, index in zip(
            self._shape(k), layout.grid, layout.coordinates[core], strict=True
        ):
            if size is None or splits == 1:
                sizes.append(size)
            else:
                start, stop = bounds(size, splits, index)
                sizes.append(stop - start)
        return tf.TensorShape(sizes)


def settle(state: LoopState, bodies: Sequence[Callable[[], list[list[Any]]]]) -> None:
    """Emit the bodies on trial until the layouts that they end with are those they start with."""
    recorder = state._expansion.recorder
    for _ in range(_MAX_TRIALS):
        changed = False
        for body in bodies:
            with recorder.paused(), private_tf.FuncGraph("trial").as_default():
                changed |= state.merge(body())
        if not changed:
            return
