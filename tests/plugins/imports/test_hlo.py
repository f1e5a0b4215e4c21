"""Kernels get the framework's op, its source line and its size from the programs in a profile."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from strategy_imports.hlo_programs import read_program
from strategy_imports.proto_fields import DamagedError
from tests.made_xplane import MadeLine, MadePlane, started, xspace
from tests.plugins.imports.made import MS, START_NS, opened
from tests.profiles.capture.xspace_builder import integer, message

RECORDED = Path(__file__).parent / "data"


def instruction(name: str, opcode: str, number: int, *more: bytes, floats: int = 1000) -> bytes:
    shape = integer(2, 11) + message(3, integer(0, floats)[1:])
    parts = [message(1, name.encode()), message(2, opcode.encode()), message(3, shape)]
    return message(2, b"".join([*parts, integer(35, number), *more]))


def program(*computations: bytes) -> bytes:
    return message(1, b"".join(message(3, each) for each in computations))


def origin(op_name: str, file: str, line: int) -> bytes:
    return message(
        7,
        message(2, op_name.encode()) + message(3, file.encode()) + integer(4, line),
    )


def test_ops_of_a_real_tpu_have_origin_and_size(tmp_path: Path) -> None:
    run = opened(tmp_path, (RECORDED / "tpu_psum.xplane.pb").read_bytes())
    by_op = {row["op"]: row for row in run.table("placement").to_pylist()}
    reduce = by_op["all-reduce"]
    assert reduce["name"] == "jit(_psum)/jit(main)/reduce_sum"
    assert reduce["source_line"].endswith("host_offload_stress_test.py:38")
    assert reduce["bytes"] == 4 * 5 * 1024 * 1024 * 256
    assert by_op["copy-done"]["source_line"] is None


def test_kernels_of_a_real_gpu_have_origin_and_size(tmp_path: Path) -> None:
    run = opened(tmp_path, (RECORDED / "gpu_gemm.xplane.pb").read_bytes())
    by_op = {row["op"]: row for row in run.table("placement").to_pylist()}
    gemm = by_op["gemm_fusion_dot_general_1.kd"]
    assert gemm["name"] == "jit(dot)/dot_general"
    assert gemm["source_line"] == "/workspace/traces/generate_gemm_trace.py:37"
    assert gemm["bytes"] == 2 * 256 * 256


@pytest.mark.parametrize(
    ("opcode", "expected"), [("all-reduce-start", 4000), ("reduce-scatter", 8000)]
)
def test_a_kernel_of_nccl_has_the_bytes_of_its_instruction(
    opcode: str, expected: int, tmp_path: Path
) -> None:
    operand = instruction("param", "parameter", 1, floats=2000)
    ran = instruction(f"{opcode}.1", opcode, 2, integer(36, 1))
    kinds = {"jit_step(1)": ("", {"Hlo Proto": program(operand + ran)})}
    stats = {"hlo_op": f"{opcode}.1", "program_id": 1, "correlation_id": 3}
    kernels = [("ncclDevKernel_AllReduce_Sum_f32_RING_LL()", MS, 2 * MS, stats)]
    gpus = [MadePlane(f"/device:GPU:{i}", [MadeLine("Stream #1", kernels)]) for i in (0, 1)]
    host = MadePlane("/host:CPU", [MadeLine("python", [("train", 0, 9 * MS, {"step_num": 1})])])
    data = xspace([*gpus, host, MadePlane("/host:metadata", kinds=kinds), started(START_NS)])
    rows = opened(tmp_path, data).table("collectives").to_pylist()
    assert [row["bytes"] for row in rows] == [expected, expected]
    assert {row["bytes_source"] for row in rows} == {"derived"}


def test_a_fusion_without_an_origin_has_that_of_its_result() -> None:
    root = instruction("add.1", "add", 8, origin("model/add", "train.py", 7))
    called = root + integer(5, 4) + integer(6, 8)
    fused = instruction("fusion.1", "fusion", 9, message(38, integer(0, 4)[1:]))
    data = program(called, fused + integer(5, 5))
    ops = read_program(data, 0, len(data), {b"fusion.1"})
    assert ops["fusion.1"].op_name == "model/add"
    assert ops["fusion.1"].source_line == "train.py:7"


def test_a_program_that_is_cut_off_is_damaged() -> None:
    data = program(instruction("add.1", "add", 1))
    with pytest.raises(DamagedError):
        read_program(data, 0, len(data) - 1, {b"add.1"})


@pytest.mark.tf
@pytest.mark.parametrize("file", sorted(RECORDED.glob("*.pb")), ids=lambda path: path.name[:3])
def test_programs_are_those_that_tensorflow_reads(file: Path) -> None:
    from tensorflow.compiler.xla import xla_data_pb2
    from tensorflow.compiler.xla.service import hlo_pb2
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace.FromString(file.read_bytes())
    (plane,) = [plane for plane in space.planes if plane.name == "/host:metadata"]
    sizes = {xla_data_pb2.F32: 4, xla_data_pb2.BF16: 2, xla_data_pb2.S32: 4, xla_data_pb2.U32: 4}
    checked = 0
    for kind in plane.event_metadata.values():
        data = kind.stats[0].bytes_value
        module = hlo_pb2.HloProto.FromString(data).hlo_module
        every = [each for part in module.computations for each in part.instructions]
        program = read_program(data, 0, len(data), {each.name.encode() for each in every})
        for theirs in every:
            ours = program[theirs.name]
            assert ours.opcode == theirs.opcode
            if theirs.metadata.op_name:
                assert ours.op_name == theirs.metadata.op_name
            if theirs.metadata.source_file:
                line = f"{theirs.metadata.source_file}:{theirs.metadata.source_line}"
                assert ours.source_line == line
            if theirs.shape.element_type in sizes:
                size = sizes[theirs.shape.element_type]
                assert ours.bytes == size * math.prod(theirs.shape.dimensions)
                checked += 1
    assert checked
