"""Assigns the GPUs of a machine to workers of a run: TensorFlow gives every process all of them.

A worker has GPUs of its own or, with `gpu_memory_mb`, a part of a GPU's memory. Free of TensorFlow;
not yet run on GPUs with several processes on one machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.user_input.text import quoted


@dataclass(frozen=True, slots=True)
class LocalRank:
    """A worker's local rank, and the number of workers of its run on the same machine."""

    rank: int = 0
    count: int = 1


@dataclass(frozen=True, slots=True)
class Share:
    """A worker's part of its machine's GPUs."""

    gpus: tuple[int, ...]
    """Physical GPUs, in order; the process sees no others."""
    logical_per_gpu: int = 1
    """Logical GPUs of this worker on each of them."""
    workers_per_gpu: int = 1
    """Workers that put logical GPUs on the same physical GPU."""

    @property
    def count(self) -> int:
        """Logical GPUs that the worker has."""
        return len(self.gpus) * self.logical_per_gpu


def share_out(spec: RunSpec, num_gpus: int, local_rank: LocalRank) -> Share:
    """The GPUs of one worker on a machine with `num_gpus` GPUs; raises SpecError if too few.

    Each worker gets GPUs of its own if there are enough. Otherwise, with `gpu_memory_mb`, its
    logical GPUs are spread evenly over fewer GPUs of its own, or workers take turns in sharing one.
    """
    request = spec.device_request
    if request.kind == "gpu" and len(request.indices) and local_rank.count > 1:
        raise SpecError(
            f"devices={quoted(spec.devices)} names the GPUs of a machine that "
            f"{local_rank.count} workers share; each needs its own",
            advice=f"Give the number of GPUs per worker, such as gpu:{len(request.indices)}",
            field="devices",
        )
    if request.kind == "gpu" and request.indices:
        return Share(_existing(request.indices, num_gpus, spec))
    each = request.count or max(1, num_gpus // local_rank.count)
    if each * local_rank.count <= num_gpus:
        return Share(tuple(range(local_rank.rank * each, (local_rank.rank + 1) * each)))
    if spec.gpu_memory_mb is None:
        raise SpecError(
            f"{local_rank.count} workers on this machine need {each * local_rank.count} "
            f"GPUs, {each} each; it has {num_gpus}",
            advice="Choose fewer workers, or set gpu_memory_mb to put several logical GPUs on "
            "one GPU",
            field="devices",
        )
    whole = num_gpus // local_rank.count
    if not whole:  # more workers than GPUs: GPU 0, 1, ... and then from 0 again
        workers = math.ceil(local_rank.count / num_gpus)
        return Share((local_rank.rank % num_gpus,), each, workers)
    # The most GPUs that divide the logical ones evenly.
    own = next(n for n in range(min(whole, each), 0, -1) if each % n == 0)
    return Share(tuple(range(local_rank.rank * whole, local_rank.rank * whole + own)), each // own)


def _existing(indices: tuple[int, ...], num_gpus: int, spec: RunSpec) -> tuple[int, ...]:
    if max(indices) < num_gpus:
        return indices
    raise SpecError(
        f"devices={quoted(spec.devices)} names GPU {max(indices)}; the machine has "
        f"{num_gpus}, numbered from 0",
        field="devices",
    )
