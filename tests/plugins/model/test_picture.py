"""The picture of the model: which layer an op belongs to, where it ran, what was sent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import strategy_profiles
from strategy_model.blocks import find_blocks
from strategy_model.fold import MOST_BLOCKS, block_title, fold
from strategy_model.model import ModelPicture
from strategy_model.picture import model_picture, plain_titles
from strategy_model.read import GraphNodes

DATA = Path(__file__).parents[2] / "data"
LAYERS = [
    "conv2d",
    "batch_normalization",
    "re_lu",
    "max_pooling2d",
    "conv2d_1",
    "batch_normalization_1",
    "re_lu_1",
    "max_pooling2d_1",
    "flatten",
    "dense",
    "dense_1",
    "SparseSoftmaxCrossEntropyWithLogits",
]


@pytest.fixture(scope="module")
def picture() -> ModelPicture:
    return model_picture(strategy_profiles.load(DATA / "captured_step"), 0)


class TestRecordedStep:
    """digits-cnn with Adam on four virtual CPUs, ring all-reduce."""

    def test_layers_are_in_the_order_of_the_model(self, picture: ModelPicture) -> None:
        assert [block.title for block in picture.blocks if block.part == "forward"] == LAYERS
        assert [block.title for block in picture.blocks if block.part == "gradient"] == LAYERS

    def test_every_layer_is_on_every_device(self, picture: ModelPicture) -> None:
        for block in picture.blocks:
            assert [share.device for share in block.shares] == list(picture.devices)
            assert all(share.num_ops > 0 for share in block.shares)

    def test_all_ops_of_the_step_are_in_a_block(self, picture: ModelPicture) -> None:
        adam = next(block for block in picture.blocks if block.part == "optimizer")
        assert adam.title == "Optimizer (adam)"
        assert picture.num_elsewhere == 1  # `_EagerConst` in a function of its own

    def test_variables_belong_to_their_layers(self, picture: ModelPicture) -> None:
        forward = {block.title: block for block in picture.blocks if block.part == "forward"}
        sizes = {name: forward[name].shares[0].variable_bytes for name in LAYERS}
        assert sizes["conv2d_1"] == 41472
        assert sizes["dense"] == 49152 + 256
        assert sizes["flatten"] == 0
        assert forward["batch_normalization"].shares[3].num_variables == 4

    def test_a_collective_counts_its_transfer_and_not_its_wait(self, picture: ModelPicture) -> None:
        total = next(block for block in picture.blocks if block.part == "reduce")
        first = total.shares[0]
        assert first.wait_ms is not None
        assert first.time_ms is not None
        assert first.wait_ms > 10 > first.time_ms

    def test_transfers_have_blocks_bytes_and_devices(self, picture: ModelPicture) -> None:
        moves = {
            (picture.blocks[move.source].part, picture.blocks[move.target].part): move
            for move in picture.moves
        }
        gathered = moves["reduce", "reduce"]
        assert (gathered.bytes, gathered.num_sends, len(gathered.pairs)) == (24.0, 3.0, 3)
        assert {receiver[-5:] for _, receiver, _ in gathered.pairs} == {"CPU:0"}
        spread = moves["loss", "optimizer"]
        assert {receiver[-5:] for _, receiver, _ in spread.pairs} == {"CPU:1", "CPU:2", "CPU:3"}

    def test_times_are_those_of_the_spans(self, picture: ModelPicture) -> None:
        spans = strategy_profiles.load(DATA / "captured_step").table("spans").to_pylist()
        device = picture.devices[1]
        own = [
            row["duration_ns"] / 1e6
            for row in spans
            if row["device"] == device and "replica_1/functional_1/dense_1/" in row["name"]
            if not row["name"].startswith("gradient_tape")
        ]
        dense = next(block for block in picture.blocks if block.title == "dense")
        assert dense.shares[1].time_ms == pytest.approx(sum(own))


def test_a_run_without_a_graph_says_why() -> None:
    picture = model_picture(strategy_profiles.load(DATA / "runs_of_0_1_0/mirrored"), 0)
    assert picture.reason == "the run has no graph of this segment"
    assert not picture.blocks


def _enormous(file: Path) -> None:
    one = pq.read_table(file, columns=["function", "name", "op", "device"]).slice(0, 1)
    thousand = pa.concat_tables([one] * 1000).combine_chunks()
    pq.write_table(pa.concat_tables([thousand] * 1001), file)


def _without_names(file: Path) -> None:
    table = pq.read_table(file)
    at = table.column_names.index("name")
    pq.write_table(table.set_column(at, "name", pa.nulls(table.num_rows, pa.string())), file)


def _a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_enormous, "has 1,001,000 rows, more than 1,000,000"),
        (_without_names, "has rows without name"),
        (_a_pipe, "is not a file"),
        (_truncate, "is cut off"),
    ],
)
def test_a_damaged_graph_says_why(
    damage: Callable[[Path], None], said: str, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(DATA / "captured_step", tmp_path / "run"))
    (graph,) = run.rglob("graph-000.parquet")
    damage(graph)
    picture = model_picture(strategy_profiles.load(run), 0)
    assert picture.reason == f"its graph cannot be used: graph-000.parquet {said}"


def test_an_eager_program_has_ops_without_a_layer() -> None:
    picture = model_picture(strategy_profiles.load(DATA / "eager_step"), 0)
    assert [block.title for block in picture.blocks] == [
        "Input",
        "Sum of gradients",
        "Ops without a layer",
    ]
    assert all(share.time_ms is None for block in picture.blocks for share in block.shares)


def test_parameter_servers_hold_layers_and_serve_them() -> None:
    picture = model_picture(strategy_profiles.load(DATA / "runs_of_0_1_0/served"), 0)
    assert picture.reason is None
    workers = next(index for index, b in enumerate(picture.blocks) if b.part == "workers")
    pulled = [move for move in picture.moves if move.target == workers]
    assert pulled
    assert all(picture.blocks[move.source].shares[0].variable_bytes for move in pulled)
    assert picture.no_time is not None


class TestFold:
    def test_few_layers_stay_as_they_are(self) -> None:
        assert fold(LAYERS) == [[layer] for layer in LAYERS]

    def test_blocks_of_a_deep_model_are_those_of_its_names(self) -> None:
        layers = [f"conv{a}_block{b}_{c}_conv" for a in (2, 3) for b in range(6) for c in range(9)]
        blocks = fold(layers)
        assert len(blocks) == 12
        assert block_title(blocks[0]) == "conv2_block0 ×9"

    def test_two_hundred_numbered_layers_are_equal_blocks(self) -> None:
        layers = ["dense", *(f"dense_{n}" for n in range(1, 200))]
        blocks = fold(layers)
        assert len(blocks) <= MOST_BLOCKS
        assert [layer for block in blocks for layer in block] == layers
        assert block_title(blocks[1]) == "dense_8 to dense_15 ×8"


def test_an_unfolded_block_is_drawn_layer_by_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    run = strategy_profiles.load(DATA / "captured_step")
    monkeypatch.setattr("strategy_model.picture.fold", _in_pairs)
    folded = model_picture(run, 0)
    first, second = (block for block in folded.blocks if block.part == "forward")
    assert first.layers == tuple(LAYERS[:6])
    opened = model_picture(run, 0, (first.title,))
    for part in ("forward", "gradient"):
        blocks = [block for block in opened.blocks if block.part == part]
        assert [block.title for block in blocks] == [*LAYERS[:6], second.title]
    assert _bytes_moved(opened) == _bytes_moved(folded)


def _in_pairs(layers: list[str]) -> list[list[str]]:
    return [layers[:6], layers[6:]]


def _bytes_moved(picture: ModelPicture) -> float:
    return sum(move.bytes or 0.0 for move in picture.moves)


def test_a_model_over_two_devices_is_in_the_order_of_its_data() -> None:
    """Layer `z` runs first, on CPU:1; what it sends is what layer `a` on CPU:0 reads."""
    nodes = GraphNodes()

    def add(name: str, op: str, device: str, *inputs: int) -> int:
        nodes.name.append(name)
        nodes.op.append(op)
        nodes.device.append(device)
        nodes.function.append((0, 0))
        nodes.bytes.append(4)
        nodes.inputs.append(list(inputs))
        nodes.tensor.append(("edge_1_x", "CPU:1", "CPU:0") if op.startswith("_") else None)
        return len(nodes) - 1

    first = add("model/z/MatMul", "MatMul", "CPU:1")
    sent = add("model/z/MatMul/_1", "_Send", "CPU:1", first)
    received = add("model/z/MatMul/_2", "_Recv", "CPU:0", sent)
    second = add("model/a/MatMul", "MatMul", "CPU:0", received)
    add("gradient_tape/model/a/MatMul", "MatMul", "CPU:0", second)
    blocks = find_blocks(nodes)
    assert blocks.layers == ("z", "a")
    assert blocks.block[sent] == ("forward", "z")
    assert blocks.block[received] == ("forward", "a")


def test_scopes_get_the_names_of_their_variables_if_those_stay_distinct() -> None:
    assert plain_titles(["conv_1", "conv_1_2"], ["conv", "conv_1"]) == {
        "conv_1": "conv",
        "conv_1_2": "conv_1",
    }
    assert plain_titles(["dense", "dense_1"], ["dense", "dense_1"]) == {
        "dense": "dense",
        "dense_1": "dense_1",
    }
