"""What the picture of a model shows: blocks, each device's share of them, transfers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Part = Literal[
    "input", "forward", "loss", "gradient", "reduce", "optimizer", "delay", "workers", "other"
]

PARTS: tuple[Part, ...] = (
    "input",
    "forward",
    "loss",
    "gradient",
    "reduce",
    "optimizer",
    "delay",
    "workers",
    "other",
)


@dataclass(frozen=True, slots=True)
class Share:
    """What one device has of a block. A value is None if it is not known."""

    device: str
    num_ops: int
    time_ms: float | None
    wait_ms: float | None
    """Of its collectives, until the last device had entered them; no part of `time_ms`."""
    num_variables: int
    variable_bytes: int | None
    output_bytes: int
    """First outputs of the ops whose size is known."""
    num_unsized: int
    """Ops whose output has no known size."""


@dataclass(frozen=True, slots=True)
class Block:
    """One box of the picture. `layers` names the layers that were folded into it."""

    part: Part
    title: str
    layers: tuple[str, ...]
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """Tensors sent from one block (position in `blocks`) to another, or within one."""

    source: int
    target: int
    bytes: float | None
    """Per step; None if the size of one tensor is not known."""
    num_sends: float
    """Per step."""
    pairs: tuple[tuple[str, str, float | None], ...]
    """Sending device, receiving device, bytes per step, the largest first."""


@dataclass(frozen=True, slots=True)
class ModelPicture:
    """The picture of a segment; `reason` says why there is none."""

    segment: int
    devices: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    moves: tuple[Move, ...] = ()
    num_steps: int = 0
    """Typical captured steps that times are means of."""
    num_elsewhere: int = 0
    """Ops of functions outside the step."""
    reason: str | None = None
    no_time: str | None = None
    """Why `time_ms` is None everywhere."""
