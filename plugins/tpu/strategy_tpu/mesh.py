"""The shape of an emulated TPU mesh: the coordinates of its cores, and what fits on it.

Does not import TensorFlow, so that the page can draw topologies. A mesh has four axes (x, y, z,
core), like `tf.tpu.experimental.Topology`. Cores are numbered in row-major order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from strategy_profiles.errors import SpecError

Coordinates = tuple[int, int, int, int]

REAL_SHAPES: dict[str, Coordinates] = {
    **{f"{v}-8": (2, 2, 1, 2) for v in ("v2", "v3")},
    **{f"{v}-32": (4, 4, 1, 2) for v in ("v2", "v3")},
    **{f"{v}-128": (8, 8, 1, 2) for v in ("v2", "v3")},
    **{f"{v}-8": (2, 2, 1, 1) for v in ("v4", "v5p")},
    **{f"{v}-16": (2, 2, 2, 1) for v in ("v4", "v5p")},
    **{f"{v}-32": (2, 2, 4, 1) for v in ("v4", "v5p")},
    **{f"{v}-64": (2, 4, 4, 1) for v in ("v4", "v5p")},
    **{f"{v}-1": (1, 1, 1, 1) for v in ("v5e", "v6e")},
    **{f"{v}-4": (2, 2, 1, 1) for v in ("v5e", "v6e")},
    **{f"{v}-8": (2, 4, 1, 1) for v in ("v5e", "v6e")},
    **{f"{v}-16": (4, 4, 1, 1) for v in ("v5e", "v6e")},
    **{f"{v}-32": (4, 8, 1, 1) for v in ("v5e", "v6e")},
    **{f"{v}-64": (8, 8, 1, 1) for v in ("v5e", "v6e")},
}
"""Meshes of existing TPUs, by their names in Cloud TPU (cloud.google.com/tpu/docs).

Up to v4 and for v5p the number in a name counts cores; the two cores per chip of v4 and v5p are one
device in TensorFlow (megacore), so a v4-8 has four devices. From v5e on it counts chips, with one
core each.
"""


class TPUSetupError(SpecError, ValueError):
    """An impossible topology or assignment. Also a ValueError, which TensorFlow raises."""


@dataclass(frozen=True, slots=True)
class Mesh:
    """A mesh of emulated cores spread evenly over `num_tasks` hosts."""

    shape: tuple[int, ...]
    num_tasks: int = 1

    def __post_init__(self) -> None:
        if len(self.shape) != 4 or any(int(size) < 1 for size in self.shape):
            raise TPUSetupError(
                f"{self.shape} is not a TPU topology, which has four axes (x, y, z, core) of "
                "at least 1",
                advice="Give, for example, (1, 2, 2, 2) for 8 cores",
                field="topology_shape",
            )
        if self.num_cores % self.num_tasks:
            raise TPUSetupError(
                f"{self.num_cores} cores cannot be shared equally among {self.num_tasks} hosts",
                field="topology_shape",
            )

    @property
    def num_cores(self) -> int:
        return prod(self.shape)

    @property
    def cores_per_task(self) -> int:
        return self.num_cores // self.num_tasks

    def coordinates(self) -> list[list[Coordinates]]:
        """Per task, the coordinates of its cores in ordinal order."""
        flat = [(x, y, z, core) for x, y, z, core in product(*map(range, self.shape))]
        per_task = self.cores_per_task
        return [flat[start : start + per_task] for start in range(0, len(flat), per_task)]


def named_shape(shape: str | Sequence[int]) -> tuple[int, ...]:
    """A mesh from its shape, or from the name of a TPU with that mesh: `v3-8` is (2, 2, 1, 2)."""
    if not isinstance(shape, str):
        return tuple(shape)
    name = shape.strip().lower().replace("v5litepod", "v5e").replace("v5lite", "v5e")
    if name not in REAL_SHAPES:
        raise TPUSetupError(
            f"No TPU named {shape!r} is known",
            advice=f"Give one of {', '.join(sorted(REAL_SHAPES))}, or the shape of any other mesh, "
            "such as (2, 2, 1, 2)",
            field="topology_shape",
        )
    return REAL_SHAPES[name]


def default_shape(num_cores: int) -> Coordinates:
    """The default mesh of `num_cores`: factors of two are assigned to the last axes first.

    Eight cores become (1, 2, 2, 2), which fits all device assignments in TensorFlow's API pages:
    `[1, 1, 1, 2]` four times and `[1, 2, 2, 2]` once.
    """
    if num_cores < 1:
        raise TPUSetupError(
            f"{num_cores} cores make no TPU", advice="Give at least one", field="devices"
        )
    rest, tail = num_cores, [1, 1, 1]
    for axis in (2, 1, 0):
        if rest % 2 == 0:
            rest, tail[axis] = rest // 2, 2
    return (rest, tail[0], tail[1], tail[2])


def computation_shape(mesh_shape: Sequence[int], cores_per_replica: int) -> Coordinates:
    """The `computation_shape` for `DeviceAssignment.build` with this number of cores per replica.

    Takes whole axes from the last one on. Raises `TPUSetupError` if no such box tiles the mesh.
    """
    rest, shape = cores_per_replica, [1, 1, 1, 1]
    for axis in (3, 2, 1, 0):
        size = mesh_shape[axis]
        take = next(n for n in range(size, 0, -1) if size % n == 0 and rest % n == 0)
        shape[axis], rest = take, rest // take
    if rest != 1:
        raise TPUSetupError(
            f"Replicas of {cores_per_replica} cores cannot tile a {tuple(mesh_shape)} mesh "
            "as boxes",
            field="cores_per_replica",
        )
    return (shape[0], shape[1], shape[2], shape[3])
