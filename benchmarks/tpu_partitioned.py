"""A matmul and a convolution partitioned over emulated cores, against the unpartitioned ones: their
time, and the bytes that they move against the least that the split can move.

    python -m benchmarks.tpu_partitioned [--quick] [--cores 4]
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.measuring.paired import median_ratio

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

Step = Callable[[], Any]


def main() -> None:
    options = _options()
    from strategy_core import tpu

    tpu.configure_virtual_cores(options.cores)
    topology = tpu.initialize_tpu_system()
    assignment = tpu.DeviceAssignment.build(
        topology, computation_shape=list(topology.mesh_shape), num_replicas=1
    )
    strategy = tpu.TPUStrategy(
        tpu.TPUClusterResolver(tpu=""),
        experimental_device_assignment=assignment,
        experimental_spmd_xla_partitioning=True,
    )
    cores, size = options.cores, 256 if options.quick else 1024
    print(f"\npartitioned over {cores} cores (input scattered from core 0)")
    for title, step, whole, least in _cases(strategy, cores, size):
        split_s, whole_s = _in_turns(step, whole, 10 if options.quick else 30)
        report = strategy.extended.last_expansion
        moved = sum(each.bytes or 0 for each in report.transfers)
        print(
            f"  {title:28} {median_ratio(split_s, whole_s)} of the whole op's time, "
            f"{moved:,} bytes moved, least {least:,} ({moved / least:.2f}x), "
            f"{len(report.fallbacks)} fallbacks"
        )


def _cases(strategy: Any, cores: int, size: int) -> Iterator[tuple[str, Step, Step, int]]:
    """(what, partitioned, whole, least bytes).

    Least bytes: each core but the first is sent its tile of the input; a contracted axis costs an
    all-reduce, 2 (n - 1) results in all; a convolution of size k sends (k - 1) rows over each edge.
    """
    import numpy as np
    import tensorflow as tf

    x = np.random.default_rng(0).normal(size=(size, size)).astype(np.float32)
    scatter = (cores - 1) * x.nbytes // cores
    for title, split, extra in (
        ("matmul, rows split", [cores, 1], 0),
        ("matmul, contraction split", [1, cores], 2 * (cores - 1) * x.nbytes),
    ):
        yield title, *_both(strategy, lambda t: tf.matmul(t, x), x, split), scatter + extra
    side = size // 8
    image = np.random.default_rng(0).normal(size=(4, side, side, 16)).astype(np.float32)
    kernel = np.random.default_rng(1).normal(size=(3, 3, 16, 32)).astype(np.float32)
    halo = 2 * (cores - 1) * image.nbytes // side
    least = (cores - 1) * image.nbytes // cores + halo
    conv = _both(strategy, lambda t: tf.nn.conv2d(t, kernel, 1, "SAME"), image, [1, cores, 1, 1])
    yield "conv 3x3, height split", *conv, least


def _both(
    strategy: Any, op: Callable[[Any], Any], value: Any, split: list[int]
) -> tuple[Step, Step]:
    """The op split over the cores, and whole on one device."""
    import tensorflow as tf

    def replica_fn(x: Any) -> Any:
        y = op(strategy.experimental_split_to_logical_devices(x, split))
        return tf.reduce_sum(y)

    given = tf.constant(value)
    split_run = tf.function(lambda x: strategy.run(replica_fn, args=(x,)), autograph=False)
    whole_run = tf.function(lambda x: tf.reduce_sum(op(x)), autograph=False)
    whole_run(given)
    split_run(given)  # last: what it expanded to is the report that is read
    return (lambda: split_run(given)), (lambda: whole_run(given).numpy())


def _in_turns(ours: Step, theirs: Step, rounds: int) -> tuple[list[float], list[float]]:
    """Seconds per step, blocks of five in turn, the order changing round by round."""
    taken: tuple[list[float], list[float]] = ([], [])
    ours(), theirs()
    for turn in range(rounds):
        for side in (0, 1) if turn % 2 else (1, 0):
            started = time.perf_counter()
            for _ in range(5):
                (ours, theirs)[side]()
            taken[side].append((time.perf_counter() - started) / 5)
    return taken


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    parser.add_argument("--cores", type=int, default=4)
    return parser.parse_args()


if __name__ == "__main__":
    main()
