"""The programs of a profile: which op of the framework each HLO instruction comes from.

A profiler writes the program that XLA compiled as a message `HloProto`, one per program, with every
constant of it. Only instructions that a device ran are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from google.protobuf.message import DecodeError

from strategy_imports.hlo_message import hlo_class
from strategy_imports.hlo_shapes import bytes_of, collective_bytes
from strategy_imports.proto_fields import BYTES, VARINT, Buffer, DamagedError, fields
from strategy_imports.recording import HloOp
from strategy_profiles.spec.limits import LONGEST_NAME

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
        found, own_id = _Computation(), -1 - len(self._computations)
        for number, kind, first, last in fields(self._buffer, begin, end):
            if number == _INSTRUCTIONS and kind == BYTES:
                found.instructions.append((first, last))
            elif number == _ID and kind == VARINT:
                own_id = first
            elif number == _ROOT and kind == VARINT:
                found.root = first
        self._num_instructions += len(found.instructions)
        if self._num_instructions > _MOST_INSTRUCTIONS:
            raise DamagedError(begin, f"more than {_MOST_INSTRUCTIONS:,} instructions")
        self._computations[own_id] = found

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
        found = {}
        for number, frame in enumerate(index.stack_frames, start=1):
            location = locations.get(frame.file_location_id)
            if location is not None and location.file_name_id in names:
                found[number] = f"{_text(names[location.file_name_id])}:{location.line}"
        return found


def _text(raw: bytes) -> str:
    return raw[: LONGEST_NAME // 4].decode("utf-8", "replace")
