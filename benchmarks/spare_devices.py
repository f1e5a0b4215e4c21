"""What a spare logical CPU costs a step: workers started with 4, 8 and 16, of which 4 are used.

    python -m benchmarks.spare_devices [--quick]

Logical devices are fixed once TensorFlow has started, so every measurement is a process of its
own; the numbers of devices take turns, so that a busy machine is busy for each of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys

COUNTS = (4, 8, 16)
WARM_UP = 30

CHILD = """
import json, sys, time
import psutil, tensorflow as tf
from strategy_profiles.spec.run_spec import RunSpec
from strategy_core.training import segment

count, steps, warm_up = map(int, sys.argv[1:])
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * count)
loop = segment.build(RunSpec(devices="cpu:4")).custom
times = []
for _ in range(steps + warm_up):
    began = time.perf_counter()
    loop.step(*next(loop.batches)).numpy()
    times.append((time.perf_counter() - began) * 1e3)
process = psutil.Process()
print(json.dumps([sorted(times[warm_up:])[steps // 2], process.memory_info().rss / 1e6,
                  process.num_threads()]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    args = parser.parse_args()
    rounds, steps = (1, 60) if args.quick else (7, 300)
    seconds: dict[int, list[list[float]]] = {count: [] for count in COUNTS}
    for _ in range(rounds):
        for count in COUNTS:
            seconds[count].append(_measure(count, steps))
    baseline = [step_ms for step_ms, _, _ in seconds[COUNTS[0]]]
    for count in COUNTS:
        times, memory, threads = zip(*seconds[count], strict=True)
        ratios = sorted(step / base for step, base in zip(times, baseline, strict=True))
        print(
            f"{count:2} logical CPUs, 4 used: step {statistics.median(times):.2f} ms, "
            f"{statistics.median(ratios):.3f}x ({ratios[0]:.3f} to {ratios[-1]:.3f}), "
            f"{statistics.median(memory):.0f} MB, {statistics.median(threads):.0f} threads"
        )


def _measure(count: int, steps: int) -> list[float]:
    """Median step (ms), resident memory (MB) and threads of a process with `count` devices."""
    command = [sys.executable, "-c", CHILD, str(count), str(steps), str(WARM_UP)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    measured: list[float] = json.loads(done.stdout.strip().splitlines()[-1])
    return measured


if __name__ == "__main__":
    main()
