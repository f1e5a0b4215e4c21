"""The values that a loop or branch carries, as the flat list of tensors that TensorFlow requires.

A partitioned value is carried as its tiles and so stays partitioned. The layout of a value at the
end of the body is known only after the body was emitted. So `settle` emits it into a scratch graph
until the layouts no longer change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorflow as tf

from strategy_tpu import private_tf
from strategy_tpu.partitioner.lists import spread
from strategy_tpu.sharded import Layout, Sharded, tile_shape

_MAX_TRIALS = 4
"""Each trial can only split more values, and chains of such changes are short."""


class LoopState:
    """Layout of each carried value, by its position; None for a tensor on core 0."""

    def __init__(self, expansion: Any, replicas: Sequence[int], carried: Iterable[int]) -> None:
        self._expansion = expansion
        self._replicas = list(replicas)
        self._carried = list(carried)
        self.layouts: dict[int, Layout | None] = dict.fromkeys(self._carried)
        self.shapes: dict[int, tf.TensorShape] = {}
        self._element_shapes: dict[int, tuple[int | None, ...]] = {}
        self._element_dtypes: dict[int, Any] = {}

    def start_from(self, initial: list[list[Any]]) -> None:
        """Set the layouts of the initial values."""
        for k in self._carried:
            self._note_layout(k, initial[k])

    def merge(self, values: list[list[Any]]) -> bool:
        """Adopt the layouts that values have at the end of a body. Returns whether any changed."""
        before = dict(self.layouts)
        for k in self._carried:
            mine = self.layouts[k]
            if mine is None or mine.is_replicated:
                self._note_layout(k, values[k])
        return self.layouts != before

    def settle(self, bodies: Sequence[Callable[[], list[list[Any]]]]) -> None:
        """Choose layouts of the carried values with which the bodies end as they start.

        Each trial emits the bodies into a scratch graph and adopts the layouts at their end. A
        layout that still differs after the last trial costs a conversion per iteration (`pack`).
        """
        recorder = self._expansion.recorder
        for _ in range(_MAX_TRIALS):
            changed = False
            for body in bodies:
                with recorder.paused(), private_tf.FuncGraph("trial").as_default():
                    changed |= self.merge(body())
            if not changed:
                return

    def pack(self, values: list[list[Any]]) -> list[tf.Tensor]:
        """The carried values in their layouts, as a flat list."""
        flat: list[tf.Tensor] = []
        for k in self._carried:
            layout = self.layouts[k]
            for replica in self._replicas:
                value = values[k][replica]
                if layout is None:
                    flat.append(self._expansion.whole(value, replica))
                else:
                    flat += self._laid_out(k, value, replica, layout).tiles
        return flat

    def unpack(self, flat: list[tf.Tensor]) -> dict[int, list[Any]]:
        """The carried values by position and replica, from the flat list."""
        rest = list(flat)
        values: dict[int, list[Any]] = {}
        for k in self._carried:
            layout = self.layouts[k]
            values[k] = [None] * self._expansion.num_replicas
            for replica in self._replicas:
                if layout is None:
                    values[k][replica] = rest.pop(0)
                else:
                    tiles = tuple(rest[: len(layout.coordinates)])
                    del rest[: len(tiles)]
                    values[k][replica] = Sharded(
                        tiles, layout, self._shape(k), self._element_dtypes.get(k)
                    )
        return values

    def invariants(self) -> list[tf.TensorShape]:
        """Static shape of each flat value."""
        shapes = []
        for k in self._carried:
            layout = self.layouts[k]
            for _ in self._replicas:
                if layout is None:
                    shapes.append(self.shapes[k])
                else:
                    shapes += [
                        self._tile_shape(k, layout, c) for c in range(len(layout.coordinates))
                    ]
        return shapes

    def placeholders(self, initial: list[list[Any]]) -> list[list[Any]]:
        """Placeholders for the carried values in a scratch graph; other values unchanged."""
        flat = [
            tf.compat.v1.placeholder_with_default(tensor, shape)
            if tensor.dtype not in (tf.variant, tf.resource)
            else tensor
            for tensor, shape in zip(self.pack(initial), self.invariants(), strict=True)
        ]
        now = self.unpack(flat)
        return [now.get(k, values) for k, values in enumerate(initial)]

    def _laid_out(self, k: int, value: Any, replica: int, layout: Layout) -> Sharded:
        group = self._expansion.groups[replica]
        if k in self._element_shapes and not isinstance(value, Sharded):
            return spread(value, layout, self._element_shapes[k], group)
        return group.reshard(value, layout)

    def _note_layout(self, k: int, values: list[Any]) -> None:
        """Keep the layout of the carried value `k`; of a list, its elements' shape and type too."""
        value = values[self._replicas[0]]
        if isinstance(value, Sharded):
            self.layouts[k] = value.layout
            if value.dtype == tf.variant:
                self._element_shapes[k] = value.shape
                self._element_dtypes[k] = value.element_dtype

    def _shape(self, k: int) -> tuple[int | None, ...]:
        if k in self._element_shapes:
            return self._element_shapes[k]
        return tuple(self.shapes[k].as_list())

    def _tile_shape(self, k: int, layout: Layout, core: int) -> tf.TensorShape:
        if k in self._element_shapes or self.shapes[k].rank is None:
            return tf.TensorShape([] if k in self._element_shapes else None)
        return tf.TensorShape(tile_shape(self._shape(k), layout, core))
