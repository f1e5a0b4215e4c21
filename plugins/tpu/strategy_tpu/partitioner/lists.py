"""TensorLists (TensorArrays, a loop's saved values) whose elements are partitioned.

A partitioned list is one list per core, with that core's tiles. As a value it is a `Sharded` whose
tiles are the lists, with the layout and shape of an element. A list that was created but not filled
is created again on every core when the first partitioned element is added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow as tf

from strategy_tpu.core_group import CoreGroup
from strategy_tpu.partitioner.rule import NoRule, PartitionedOp, Rule, require, rule
from strategy_tpu.sharded import Layout, Sharded, Size, Value, replicated, tile_shape

LIST_RULES: dict[str, Rule] = {}
"""Rules of the ops that take or create a list."""

MAKERS = frozenset(("EmptyTensorList", "TensorListReserve"))


def is_list(value: Value) -> bool:
    """Whether a value is a partitioned list."""
    return isinstance(value, Sharded) and value.dtype == tf.variant


def spread(value: tf.Tensor, layout: Layout, shape: Sequence[Size], group: CoreGroup) -> Sharded:
    """Convert an unfilled list of one core to lists of all cores.

    Raises NoRule for a filled one.
    """
    maker = value.op
    if maker.type not in MAKERS:
        raise NoRule("a list that was filled on one core")
    dtype = tf.as_dtype(maker.get_attr("element_dtype"))
    tiles = []
    for core in group.cores:
        with group.on(core, maker.name.rsplit("/", 1)[-1]):
            element = tf.constant(_element_shape(shape, layout, core), tf.int32)
            if maker.type == "EmptyTensorList":
                made = tf.raw_ops.EmptyTensorList(
                    element_shape=element, max_num_elements=maker.inputs[1], element_dtype=dtype
                )
            else:
                made = tf.raw_ops.TensorListReserve(
                    element_shape=element, num_elements=maker.inputs[1], element_dtype=dtype
                )
        tiles.append(made)
    return Sharded(tuple(tiles), layout, tuple(shape), dtype)


def collect(value: Sharded, core: int, group: CoreGroup) -> tf.Tensor:
    """Return a partitioned list as a list of whole elements on one core.

    Each core stacks its tiles, so that one gather serves all elements.
    """
    stacked = []
    for k in group.cores:
        with group.on(k, "list"):
            element = tf.constant(_element_shape(value.shape, value.layout, k), tf.int32)
            stacked.append(
                tf.raw_ops.TensorListStack(
                    input_handle=value.tiles[k],
                    element_shape=element,
                    element_dtype=value.element_dtype,
                )
            )
    axes: list[int | None] = [None, *range(value.layout.rank)]
    whole = Sharded(tuple(stacked), value.layout.pick(axes), (None, *value.shape))
    tensor = group.gather(whole, core)
    sizes = [-1 if size is None else size for size in value.shape]
    with group.on(core, "list"):
        return tf.raw_ops.TensorListFromTensor(
            tensor=tensor, element_shape=tf.constant(sizes, tf.int32)
        )


def _rule(*op_types: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        LIST_RULES.update(dict.fromkeys(op_types, function))
        return function

    return register


@rule("TensorListFromTensor")
def from_tensor(op: PartitionedOp) -> list[Value]:
    value = op.inputs[0]
    assert isinstance(value, Sharded)
    value = op.group.release(value, [0])
    layout, shape = value.layout.pick(list(range(1, len(value.shape)))), value.shape[1:]
    return [_on_tiles(op, layout, shape, value.tiles, _elements(op, shape, layout))[0]]


@_rule("TensorListGetItem")
def get_item(op: PartitionedOp) -> list[Value]:
    mine = _list(op)
    (tiles,) = op.per_core(
        mine.tiles, op.whole(1), _elements(op, mine.shape, mine.layout), keep_handles=False
    )
    return [Sharded(tuple(tiles), mine.layout, mine.shape)]


@_rule("TensorListSetItem")
def set_item(op: PartitionedOp) -> list[Value]:
    mine, items = _with_item(op, 2)
    return [_on_tiles(op, mine.layout, mine.shape, mine.tiles, op.whole(1), items)[0]]


@_rule("TensorListPushBack")
def push_back(op: PartitionedOp) -> list[Value]:
    mine, items = _with_item(op, 1)
    return [_on_tiles(op, mine.layout, mine.shape, mine.tiles, items)[0]]


@_rule("TensorListPopBack")
def pop_back(op: PartitionedOp) -> list[Value]:
    mine = _list(op)
    elements = _elements(op, mine.shape, mine.layout)
    return list(_on_tiles(op, mine.layout, mine.shape, mine.tiles, elements))


@_rule("TensorListStack")
def stack(op: PartitionedOp) -> list[Value]:
    mine = _list(op)
    elements = _elements(op, mine.shape, mine.layout)
    (tiles,) = op.per_core(mine.tiles, elements, keep_handles=False)
    length = op.output_shape()[0]
    axes: list[int | None] = [None, *range(mine.layout.rank)]
    return [Sharded(tuple(tiles), mine.layout.pick(axes), (length, *mine.shape))]


@_rule("TensorListLength")
def length(op: PartitionedOp) -> list[Value]:
    (tiles,) = op.per_core(_list(op).tiles)
    return [Sharded(tuple(tiles), replicated(0, op.num_cores), ())]


@_rule("TensorListElementShape")
def element_shape(op: PartitionedOp) -> list[Value]:
    mine = _list(op)
    sizes = [-1 if size is None else size for size in mine.shape]
    tiles = op.on_cores(lambda _: tf.constant(sizes, op.template.dtypes[0]), mine.tiles)
    return [Sharded(tuple(tiles), replicated(1, op.num_cores), (len(sizes),))]


@_rule("AddN", "ZerosLike", "Identity")
def elementwise(op: PartitionedOp) -> list[Value]:
    guide = next(value for value in op.inputs if is_list(value))
    assert isinstance(guide, Sharded)
    operands = [
        value if is_list(value) else spread(value, guide.layout, guide.shape, op.group)
        for value in op.inputs
    ]
    lists = [value for value in operands if isinstance(value, Sharded)]
    require(all(each.layout == guide.layout for each in lists), "lists split differently")
    return [_on_tiles(op, guide.layout, guide.shape, *[each.tiles for each in lists])[0]]


def _list(op: PartitionedOp) -> Sharded:
    value = op.inputs[0]
    if not isinstance(value, Sharded):
        raise NoRule("a list on one core")
    return value


def _with_item(op: PartitionedOp, position: int) -> tuple[Sharded, tuple[tf.Tensor, ...]]:
    """The list, spread over all cores if necessary, and the item in the list's layout."""
    mine, item = op.inputs[0], op.inputs[position]
    if not isinstance(mine, Sharded):
        assert isinstance(item, Sharded)
        mine = spread(mine, item.layout, item.shape, op.group)
    return mine, op.tiles(position, mine.layout)


def _elements(op: PartitionedOp, shape: Sequence[Size], layout: Layout) -> list[tf.Tensor]:
    """Per core, the shape of an element, as list ops take it."""
    dtype = tf.as_dtype(op.attr("shape_type")) if "shape_type" in op.template.attrs else tf.int32
    tensors = []
    for core in op.group.cores:
        with op.group.on(core, op.name):
            tensors.append(tf.constant(_element_shape(shape, layout, core), dtype))
    return tensors


def _element_shape(shape: Sequence[Size], layout: Layout, core: int) -> list[int]:
    return [-1 if size is None else size for size in tile_shape(shape, layout, core)]


def _on_tiles(
    op: PartitionedOp, layout: Layout, shape: Sequence[Size], *operands: Sequence[tf.Tensor]
) -> list[Sharded]:
    """Run a list op on every core with that core's `operands`; return each output over all cores.

    `layout` and `shape` are those of an element; an output that is a list keeps its element's type.
    """
    columns = op.per_core(*operands, keep_handles=False)
    dtype = _element_dtype(op)
    return [
        Sharded(tuple(tiles), layout, tuple(shape), dtype if tiles[0].dtype == tf.variant else None)
        for tiles in columns
    ]


def _element_dtype(op: PartitionedOp) -> tf.DType:
    known = [value.element_dtype for value in op.inputs if isinstance(value, Sharded)]
    return next(
        (dtype for dtype in known if dtype is not None),
        tf.as_dtype(op.attr("element_dtype")) if "element_dtype" in op.template.attrs else None,
    )
