"""The logical cores of one replica, and how a tensor is moved between them.

All communication between cores happens in this module and is recorded. A piece of a tile is sliced
on its own core, so that only the needed part is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from strategy_tpu import private_tf
from strategy_tpu.cloning import Template
from strategy_tpu.recorder import TrafficRecorder
from strategy_tpu.report import num_bytes
from strategy_tpu.sharded import (
    Layout,
    Sharded,
    Size,
    Value,
    bounds,
    rank_of,
    replicated,
    shape_of,
)

Span = tuple[int, int]
Want = Span | int | None
"""A part of an axis: positions [start, stop), the tile of an index, or everything (None)."""

REDUCTIONS: dict[str, Callable[[list[tf.Tensor]], tf.Tensor]] = {
    "sum": tf.add_n,
    "prod": lambda parts: tf.reduce_prod(tf.stack(parts), axis=0),
    "max": lambda parts: tf.reduce_max(tf.stack(parts), axis=0),
    "min": lambda parts: tf.reduce_min(tf.stack(parts), axis=0),
    "all": lambda parts: tf.reduce_all(tf.stack(parts), axis=0),
    "any": lambda parts: tf.reduce_any(tf.stack(parts), axis=0),
}


class CoreGroup:
    """The cores of one replica; `devices[k]` emulates logical core k."""

    def __init__(self, replica: int, devices: Sequence[str], recorder: TrafficRecorder) -> None:
        self.replica = replica
        self.devices = list(devices)
        self.recorder = recorder

    @property
    def num_cores(self) -> int:
        return len(self.devices)

    @property
    def cores(self) -> range:
        return range(len(self.devices))

    def scope_of(self, core: int) -> str:
        """Name prefix of a core's nodes."""
        return f"replica_{self.replica}" + (f"/core_{core}" if self.num_cores > 1 else "")

    @contextmanager
    def on(self, core: int, name: str) -> Iterator[None]:
        """Context in which new ops run on `core` and are named after the traced op `name`."""
        scope = f"{self.scope_of(core)}/{name}/"
        with tf.device(self.devices[core]), tf.name_scope(scope):
            yield

    def create(
        self,
        template: Template,
        inputs: Sequence[tf.Tensor],
        core: int,
        *,
        device: str | None = None,
        attrs: Mapping[str, Any] | None = None,
        keep_handles: bool = True,
    ) -> tf.Operation:
        """Create the traced op on `core`, or on `device` if its resource requires that."""
        where = self.devices[core] if device is None else device
        self.recorder.op(template.type, where or self.devices[core])
        if self.num_cores > 1:
            for tensor in inputs:
                source = tensor.device
                if source in self.devices and where in self.devices:
                    self.recorder.transfer(tensor, source, where, "placement")
        name = f"{self.scope_of(core)}/{template.op.name}"
        return template.create(inputs, where, name, self.replica, attrs, keep_handles)

    # -- moving -----------------------------------------------------------------------------------

    def gather(self, value: Sharded, core: int, reason: str = "gather") -> tf.Tensor:
        """Gather the whole tensor on one core."""
        if value.is_replicated:
            return value.tiles[core]
        key = (id(tf.compat.v1.get_default_graph()), core)
        if key not in value.whole:
            with self.communication(reason, value, reason) as nodes:
                value.whole[key] = self.assemble(value, core, [None] * len(value.shape), reason)
                nodes.append(value.whole[key])
        return value.whole[key]

    def replicate(self, value: Value) -> Sharded:
        """Copy the whole tensor to every core."""
        return self.reshard(value, replicated(rank_of(value), self.num_cores))

    def reshard(self, value: Value, layout: Layout) -> Sharded:
        """Convert a tensor to another layout; only the parts that a core lacks are sent."""
        if not isinstance(value, Sharded):
            return self._scatter(value, layout)
        if value.layout == layout:
            return value
        reason = "all-gather" if layout.is_replicated else "reshard"
        with self.communication(reason, value, reason) as nodes:
            tiles = [self._retile(value, layout, core, reason) for core in self.cores]
            nodes.extend(tiles)
        return Sharded(tuple(tiles), layout, value.shape)

    def release(self, value: Sharded, axes: Sequence[int]) -> Sharded:
        """Join the tiles along `axes`."""
        return self.reshard(value, value.layout.without(axes))

    def all_reduce(
        self,
        tiles: Sequence[tf.Tensor],
        keys: Sequence[Any],
        parts: Sequence[Any],
        name: str,
        kind: str = "sum",
    ) -> list[tf.Tensor]:
        """Per core, the reduction over the cores with the same key, with each `part` counted once.

        Two cores with the same key and part hold the same numbers, so only one of them contributes.
        """
        results: list[Any] = list(tiles)
        for key in dict.fromkeys(keys):
            members = [core for core in self.cores if keys[core] == key]
            distinct = list({parts[core]: core for core in reversed(members)}.values())[::-1]
            if len(distinct) == 1:
                continue
            root = distinct[0]
            devices = [self.devices[core] for core in members]
            with self.recorder.communication(
                "all-reduce", name, devices, num_bytes(tiles[root])
            ) as nodes:
                for core in distinct:
                    self._sent(tiles[core], core, root, "all-reduce")
                with self.on(root, f"{name}/all_reduce"):
                    total = REDUCTIONS[kind]([tiles[core] for core in distinct])
                for core in members:
                    results[core] = self._copied(total, root, core, f"{name}/all_reduce")
                nodes.extend([results[core] for core in members])
        return results

    def assemble(
        self, value: Sharded, core: int, wanted: Sequence[Want], reason: str, pad: Any = 0
    ) -> tf.Tensor:
        """A box of a tensor on `core`, fetched from the cores that hold its parts.

        Positions outside of the tensor, if spans reach beyond it, are filled with `pad`.
        """
        pieces = [_pieces(value, axis, want) for axis, want in enumerate(wanted)]

        def join(axis: int, point: tuple[int, ...], cuts: tuple[Span | None, ...]) -> tf.Tensor:
            """The box's part that is fixed on the axes before this one: a core on each (`point`),
            and what is cut from its tile (`cuts`). Joins the parts along the remaining axes."""
            if axis == len(pieces):
                return self._fetch(value, core, point, cuts, reason)
            parts = [join(axis + 1, (*point, i), (*cuts, cut)) for i, cut in pieces[axis]]
            if len(parts) == 1:
                return parts[0]
            with self.on(core, reason):
                return tf.concat(parts, axis)

        box = join(0, (), ())
        margins = [_margin(value.shape[axis], want) for axis, want in enumerate(wanted)]
        if any(map(any, margins)):
            with self.on(core, reason):
                box = tf.pad(box, margins, constant_values=tf.cast(pad, box.dtype))
        return box

    def communication(self, kind: str, value: Sharded, name: str) -> Any:
        """Context whose transfers are recorded as one collective of this replica's cores."""
        return self.recorder.communication(kind, name, self.devices, num_bytes(value.tiles[0]))

    # -- parts ------------------------------------------------------------------------------------

    def _sent(self, tensor: tf.Tensor, source: int, target: int, reason: str) -> None:
        self.recorder.transfer(tensor, self.devices[source], self.devices[target], reason)

    def _copied(self, tensor: tf.Tensor, source: int, target: int, name: str) -> tf.Tensor:
        if source == target:
            return tensor
        self._sent(tensor, source, target, name.rsplit("/", 1)[-1].replace("_", "-"))
        with self.on(target, name):
            return tf.identity(tensor)

    def _fetch(
        self,
        value: Sharded,
        core: int,
        point: tuple[int, ...],
        cuts: tuple[Span | None, ...],
        reason: str,
    ) -> tf.Tensor:
        holder = value.layout.holder(point, core)
        tile = value.tiles[holder]
        if any(cut is not None for cut in cuts):
            index = tuple(slice(None) if cut is None else slice(*cut) for cut in cuts)
            with self.on(holder, reason):
                tile = tile[index]
        return self._copied(tile, holder, core, reason)

    def _retile(self, value: Sharded, layout: Layout, core: int, reason: str) -> tf.Tensor:
        """A core's tile of the value in another layout, put together from other cores' tiles."""
        wanted: list[Want] = []
        dynamic: dict[int, tuple[int, int]] = {}
        point = layout.coordinates[core]
        for axis, (size, splits) in enumerate(zip(value.shape, layout.grid, strict=True)):
            if splits == 1:
                wanted.append(None)
            elif splits == value.grid[axis]:
                wanted.append(point[axis])
            elif size is not None:
                wanted.append(bounds(size, splits, point[axis]))
            else:
                wanted.append(None)
                dynamic[axis] = (splits, point[axis])
        box = self.assemble(value, core, wanted, reason)
        if not dynamic:
            return box
        with self.on(core, reason):
            return _dynamic_tile(box, dynamic)

    def _scatter(self, value: tf.Tensor, layout: Layout) -> Sharded:
        """Distribute a tensor of one core over all; a constant is created on each core instead."""
        shape = shape_of(value)
        constant = private_tf.constant_value(value) if value.op.type == "Const" else None
        source = self.devices.index(value.device) if value.device in self.devices else 0
        tiles = []
        reason = "broadcast" if layout.is_replicated else "scatter"
        with self.recorder.communication(
            reason, value.op.name, self.devices, num_bytes(value)
        ) as nodes:
            for core in self.cores:
                static, dynamic = _tile_of(shape, layout, core)
                if constant is not None and not dynamic:
                    with self.on(core, value.op.name.rsplit("/", 1)[-1]):
                        tile = tf.constant(constant[static], value.dtype)
                else:
                    tile = self._slice_of(value, static, dynamic, source, reason)
                    tile = self._copied(tile, source, core, reason)
                tiles.append(tile)
            nodes.extend(tiles)
        return Sharded(tuple(tiles), layout, shape)

    def _slice_of(
        self,
        value: tf.Tensor,
        static: tuple[slice, ...],
        dynamic: Mapping[int, tuple[int, int]],
        source: int,
        reason: str,
    ) -> tf.Tensor:
        with self.on(source, reason):
            if any(each != slice(None) for each in static):
                value = value[static]
            return _dynamic_tile(value, dynamic) if dynamic else value


def _pieces(value: Sharded, axis: int, want: Want) -> list[tuple[int, Span | None]]:
    """Tiles along an axis that overlap `want`, and the part of each (None: all of it)."""
    splits, size = value.grid[axis], value.shape[axis]
    if isinstance(want, int):
        return [(want, None)]
    if want is None:
        return [(index, None) for index in range(splits)]
    if size is None:
        raise ValueError("a part of an axis of unknown size")
    pieces: list[tuple[int, Span | None]] = []
    for index in range(splits):
        start, stop = bounds(size, splits, index)
        low, high = max(start, want[0]), min(stop, want[1])
        if low < high:
            whole = (low, high) == (start, stop)
            pieces.append((index, None if whole else (low - start, high - start)))
    return pieces or [(0, (0, 0))]


def _margin(size: Size, want: Want) -> list[int]:
    if not isinstance(want, tuple) or size is None:
        return [0, 0]
    return [max(0, min(-want[0], want[1] - want[0])), max(0, want[1] - max(size, want[0]))]


def _tile_of(
    shape: Sequence[Size], layout: Layout, core: int
) -> tuple[tuple[slice, ...], dict[int, tuple[int, int]]]:
    """Slices that cut out a core's tile, and (splits, index) for axes of unknown size."""
    static: list[slice] = []
    dynamic: dict[int, tuple[int, int]] = {}
    for axis, (size, splits) in enumerate(zip(shape, layout.grid, strict=True)):
        index = layout.coordinates[core][axis]
        if splits == 1 or size is None:
            static.append(slice(None))
            if splits > 1:
                dynamic[axis] = (splits, index)
        else:
            static.append(slice(*bounds(size, splits, index)))
    return tuple(static), dynamic


def _dynamic_tile(value: tf.Tensor, tiles: Mapping[int, tuple[int, int]]) -> tf.Tensor:
    shape = tf.shape(value)
    index = [slice(None)] * value.shape.rank
    for axis, (splits, i) in tiles.items():
        index[axis] = slice(shape[axis] * i // splits, shape[axis] * (i + 1) // splits)
    return value[tuple(index)]
