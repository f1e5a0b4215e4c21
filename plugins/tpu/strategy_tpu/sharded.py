"""How a tensor is distributed over the logical cores of one replica.

A plain tensor is on one core. A `Sharded` tensor is cut into a grid of tiles, one per core; with a
grid of ones every core holds the whole tensor. `CoreHandles` is a variable with a copy per core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias

import tensorflow as tf

Size = int | None
Coordinates = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CoreHandles:
    """Resource handles of one variable, one per logical core of a replica."""

    handles: tuple[tf.Tensor, ...]


@dataclass(frozen=True)
class Layout:
    """A grid of tiles, and the tile of each core (several cores may hold the same one)."""

    grid: Coordinates
    coordinates: tuple[Coordinates, ...]

    @property
    def is_replicated(self) -> bool:
        return all(splits == 1 for splits in self.grid)

    @property
    def rank(self) -> int:
        return len(self.grid)

    def pick(self, axes: Sequence[int | None]) -> Layout:
        """The layout whose axis j is this one's `axes[j]`; `None` is an axis that is not split."""

        def of(point: Coordinates, missing: int) -> Coordinates:
            return tuple(missing if axis is None else point[axis] for axis in axes)

        return Layout(of(self.grid, 1), tuple(of(point, 0) for point in self.coordinates))

    def without(self, axes: Sequence[int]) -> Layout:
        """This layout with the tiles along `axes` joined."""
        return self.pick([None if axis in axes else axis for axis in range(self.rank)])

    def split_axes(self) -> list[int]:
        return [axis for axis, splits in enumerate(self.grid) if splits > 1]

    def holder(self, point: Coordinates, prefer: int) -> int:
        """A core that holds tile `point`: `prefer` if it does, else the first."""
        if self.coordinates[prefer] == point:
            return prefer
        return self.coordinates.index(point)


def replicated(rank: int, num_cores: int) -> Layout:
    """The layout in which every core holds the whole tensor."""
    return Layout((1,) * rank, ((0,) * rank,) * num_cores)


def tiled(grid: Sequence[int], core_order: Sequence[int]) -> Layout:
    """Tiles in row-major order on the cores `core_order`, as in XLA's tile assignment."""
    point_of = dict(zip(core_order, product(*map(range, grid)), strict=True))
    return Layout(tuple(grid), tuple(point_of[core] for core in range(len(core_order))))


@dataclass(frozen=True, eq=False)
class Sharded:
    """A tensor on the cores of one replica: core k holds `tiles[k]`, tile `layout.coordinates[k]`.

    `shape` is that of the whole tensor, with `None` for a size known only at run time. Tile i of n
    along an axis of size s covers `[s * i // n, s * (i + 1) // n)`.
    """

    tiles: tuple[tf.Tensor, ...]
    layout: Layout
    shape: tuple[Size, ...]
    element_dtype: tf.DType | None = None
    """For a list, the dtype of its elements. Layout and shape are then those of an element."""
    whole: dict[Any, tf.Tensor] = field(default_factory=dict, repr=False)
    """The gathered tensor by graph and core, so that several readers gather it only once."""

    @property
    def dtype(self) -> tf.DType:
        return self.tiles[0].dtype

    @property
    def grid(self) -> Coordinates:
        return self.layout.grid

    @property
    def is_replicated(self) -> bool:
        return self.layout.is_replicated


Value: TypeAlias = tf.Tensor | Sharded | CoreHandles
"""The value of a traced tensor on one replica."""


def bounds(size: int, splits: int, index: int) -> tuple[int, int]:
    """First and last + 1 position of tile `index` along an axis."""
    return size * index // splits, size * (index + 1) // splits


def tile_shape(shape: Sequence[Size], layout: Layout, core: int) -> tuple[Size, ...]:
    """Shape of the tile that a core holds."""
    sizes: list[Size] = []
    for size, splits, index in zip(shape, layout.grid, layout.coordinates[core], strict=True):
        if size is None or splits == 1:
            sizes.append(size)
        else:
            start, stop = bounds(size, splits, index)
            sizes.append(stop - start)
    return tuple(sizes)


def rank_of(value: Value) -> int:
    """Rank of a value; raises ValueError if it is unknown."""
    if isinstance(value, Sharded):
        return len(value.shape)
    if isinstance(value, CoreHandles) or value.shape.rank is None:
        raise ValueError("unknown rank")
    return int(value.shape.rank)


def shape_of(value: Value) -> tuple[Size, ...]:
    """Shape of the whole tensor; raises ValueError if the rank is unknown."""
    if isinstance(value, Sharded):
        return value.shape
    if isinstance(value, CoreHandles) or value.shape.rank is None:
        raise ValueError("unknown rank")
    return tuple(value.shape.as_list())


def layout_of(value: Value, num_cores: int) -> Layout:
    """Layout of a value; a tensor on one core counts as not split."""
    if isinstance(value, Sharded):
        return value.layout
    return replicated(rank_of(value), num_cores)


def is_split(value: Any) -> bool:
    """Whether a value is cut into more than one tile."""
    return isinstance(value, Sharded) and not value.is_replicated
