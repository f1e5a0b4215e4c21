"""The programs of a profile: which op of the framework each HLO instruction comes from.

A profiler writes the program that XLA compiled as a message `HloProto`, one per program, with every
constant of it. Only instructions that a device ran are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from google.protobuf.message import DecodeError

from strategy_imports.proto_fields import BYTES, VARINT, Buffer, DamagedError, fields
from strategy_imports.recording import HloOp
from strategy_profiles.capture.kernel_names import collective_of
from strategy_profiles.capture.xplane_message import classes_of
from strategy_profiles.spec.limits import LONGEST_NAME

_BITS = {
    **dict.fromkeys((1, 2, 6, 19, 20, 23, 24, 25, 28, 29, 33), 8),
    **dict.fromkeys((3, 7, 10, 16), 16),
    **dict.fromkeys((4, 8, 11), 32),
    **dict.fromkeys((5, 9, 12, 15), 64),
    18: 128,
    **dict.fromkeys((21, 22, 32), 4),
    **dict.fromkeys((26, 27), 2),
    **dict.fromkeys((30, 31), 1),
}
"""By `PrimitiveType` of xla_data.proto. Tuples, tokens and opaque types have no size of their own.
"""
_LARGEST = 2**61
_MOST_PARTS = 10_000


def bytes_of(shape: Any) -> int:
    """Return the size of a tensor, or of all tensors of a tuple; -1 if there is none."""
    sizes = [size for size in _sizes(shape) if size >= 0]
    return min(sum(sizes), _LARGEST) if sizes else -1


def collective_bytes(opcode: str, shape: Any, operands: Sequence[int]) -> int:
    """Return the size S of a collective as nccl-tests counts it; -1 if it is not a collective.

    `operands` are the sizes of what it takes.

    S of a reduce-scatter is its operand, S of the others their result. The start of an all-gather
    or a permutation returns operand and result.
    """
    op = collective_of(opcode)
    if op is None or opcode.endswith("-done"):
        return -1
    if op == "reduce-scatter":
        return min(sum(operands), _LARGEST) if min(operands, default=-1) >= 0 else -1
    is_pair = opcode in ("all-gather-start", "collective-permute-start")
    if is_pair and len(shape.tuple_shapes) > 1:
        return bytes_of(shape.tuple_shapes[1])
    return bytes_of(shape)


def _sizes(shape: Any) -> list[int]:
    parts = [shape]
    sizes: list[int] = []
    while parts and len(sizes) < _MOST_PARTS:
        part = parts.pop()
        parts += part.tuple_shapes
        if not part.tuple_shapes:
            sizes.append(_size(part.element_type, part.dimensions))
    return sizes


def _size(element_type: int, dimensions: Sequence[int]) -> int:
    bits = _BITS.get(element_type)
    if bits is None:
        return -1
    count = 1
    for size in dimensions:
        if size < 0:
            return -1
        count = min(count * size, _LARGEST)
    return min((count * bits + 7) // 8, _LARGEST)


# Declared here, so that reading them needs no TensorFlow. Field numbers are those of
# xla/service/hlo.proto and xla/xla_data.proto.
hlo_class = classes_of(
    {
        "HloInstructionProto": [
            ("name", 1, "bytes"),
            ("opcode", 2, "bytes"),
            ("shape", 3, "ShapeProto"),
            ("metadata", 7, "OpMetadata"),
            ("id", 35, "int64"),
            ("operand_ids", 36, "*int64"),
            ("called_computation_ids", 38, "*int64"),
        ],
        "OpMetadata": [
            ("op_name", 2, "bytes"),
            ("source_file", 3, "bytes"),
            ("source_line", 4, "int64"),
            ("stack_frame_id", 15, "int64"),
        ],
        "ShapeProto": [
            ("element_type", 2, "int64"),
            ("dimensions", 3, "*int64"),
            ("tuple_shapes", 4, "*ShapeProto"),
        ],
        "StackFrameIndexProto": [
            ("file_names", 1, "*bytes"),
            ("file_locations", 3, "*FileLocation"),
            ("stack_frames", 4, "*StackFrame"),
        ],
        "FileLocation": [("file_name_id", 1, "int64"), ("line", 3, "int64")],
        "StackFrame": [("file_location_id", 1, "int64")],
    }
)


_MODULE = 1
_COMPUTATIONS, _STACK_FRAMES = 3, 17
_INSTRUCTIONS, _ID, _ROOT = 2, 5, 6
_MOST_INSTRUCTIONS = 1_000_000
_NAME_TAG = 0x0A
Place = tuple[int, int]


def read_program(buffer: Buffer, begin: int, end: int, wanted: Set[bytes]) -> dict[str, HloOp]:
    """Return the instructions with these names of the `HloProto` in `[begin, end)`.

    Raises DamagedError.
    """
    program = _Program(buffer)
    for number, kind, first, last in fields(buffer, begin, end):
        if number == _MODULE and kind == BYTES:
            program.read(first, last)
    return {op.name: op for op in program.ops(wanted)}


@dataclass(slots=True)
class _Computation:
    root: int = -1
    instructions: list[Place] = field(default_factory=list)
    sizes: dict[int, int] = field(default_factory=dict)
    """Bytes of the instructions' results by their ids; filled when the first is asked for."""


class _Program:
    """Where the parts of one program are in the file."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer
        self._computations: dict[int, _Computation] = {}
        self._frames_at: Place = (0, 0)
        self._num_instructions = 0
        self._roots: dict[int, Any] = {}

    def read(self, begin: int, end: int) -> None:
        for number, kind, first, last in fields(self._buffer, begin, end):
            if number == _COMPUTATIONS and kind == BYTES:
                self._read_computation(first, last)
            elif number == _STACK_FRAMES and kind == BYTES:
                self._frames_at = first, last

    def _read_computation(self, begin: int, end: int) -> None:
        """Add the computation of these bytes; one without an id gets one below zero."""
        computation, own_id = _Computation(), -1 - len(self._computations)
        for number, kind, first, last in fields(self._buffer, begin, end):
            if number == _INSTRUCTIONS and kind == BYTES:
                computation.instructions.append((first, last))
            elif number == _ID and kind == VARINT:
                own_id = first
            elif number == _ROOT and kind == VARINT:
                computation.root = first
        self._num_instructions += len(computation.instructions)
        if self._num_instructions > _MOST_INSTRUCTIONS:
            raise DamagedError(begin, f"more than {_MOST_INSTRUCTIONS:,} instructions")
        self._computations[own_id] = computation

    def ops(self, wanted: Set[bytes]) -> Iterator[HloOp]:
        for computation in self._computations.values():
            for place in computation.instructions:
                if self._name(*place) in wanted:
                    instruction = self._parsed(place)
                    if instruction is not None:
                        yield self._op(instruction, computation)

    def _name(self, begin: int, end: int) -> bytes:
        """Return the instruction's name, its first field."""
        if begin >= end or self._buffer[begin] != _NAME_TAG:
            return b""
        _, _, first, last = next(fields(self._buffer, begin, end))
        return bytes(self._buffer[first : min(last, first + LONGEST_NAME)])

    def _parsed(self, place: Place) -> Any:
        try:
            message = hlo_class("HloInstructionProto")
            return message.FromString(self._buffer[place[0] : place[1]])
        except DecodeError:
            return None

    def _op(self, instruction: Any, computation: _Computation) -> HloOp:
        opcode = _text(instruction.opcode)
        metadata = instruction.metadata
        if not metadata.op_name and len(instruction.called_computation_ids):
            metadata = self._root_metadata(instruction.called_computation_ids[0]) or metadata
        operands = []
        if opcode == "reduce-scatter":
            operands = self._operands(set(instruction.operand_ids), computation)
        return HloOp(
            _text(instruction.name),
            opcode,
            _text(metadata.op_name),
            self._source_line(metadata),
            bytes_of(instruction.shape),
            collective_bytes(opcode, instruction.shape, operands),
        )

    def _root_metadata(self, computation: int) -> Any:
        """Return what a computation's result comes from: a fusion may have no origin itself."""
        if computation not in self._roots:
            self._roots[computation] = self._find_root_metadata(computation)
        return self._roots[computation]

    def _find_root_metadata(self, computation: int) -> Any:
        """Return the metadata of the instruction that a computation returns, or None."""
        called = self._computations.get(computation)
        if called is None:
            return None
        # Usually the last instruction; XLA passes may append others after it.
        for place in reversed(called.instructions):
            instruction = self._parsed(place)
            if instruction is not None and instruction.id == called.root:
                return instruction.metadata
        return None

    def _operands(self, ids: Set[int], computation: _Computation) -> list[int]:
        sizes = computation.sizes
        if not sizes:
            parsed = map(self._parsed, computation.instructions)
            sizes.update((each.id, bytes_of(each.shape)) for each in parsed if each is not None)
        return [sizes.get(each, -1) for each in ids]

    def _source_line(self, metadata: Any) -> str:
        if metadata.source_file:
            return f"{_text(metadata.source_file)}:{metadata.source_line}"
        return self._frames.get(metadata.stack_frame_id, "")

    @cached_property
    def _frames(self) -> Mapping[int, str]:
        """By number of a stack frame: its file and line. Numbers begin at 1."""
        begin, end = self._frames_at
        try:
            index = hlo_class("StackFrameIndexProto").FromString(self._buffer[begin:end])
        except DecodeError:
            return {}
        names = dict(enumerate(index.file_names, start=1))
        locations = dict(enumerate(index.file_locations, start=1))
        frames = {}
        for number, frame in enumerate(index.stack_frames, start=1):
            location = locations.get(frame.file_location_id)
            if location is not None and location.file_name_id in names:
                frames[number] = f"{_text(names[location.file_name_id])}:{location.line}"
        return frames


def _text(raw: bytes) -> str:
    return raw[: LONGEST_NAME // 4].decode("utf-8", "replace")
