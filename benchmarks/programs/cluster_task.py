"""One worker of the clusters that `benchmarks.cluster` measures.

    python -m benchmarks.programs.cluster_task plain
        a MultiWorkerMirroredStrategy program with nothing of the lab: says when its first step is
        done
    python -m benchmarks.programs.cluster_task recording FOLDER HIDDEN ROUNDS STEPS
        blocks of bare and of recorded steps in turns, and of steps with the light marks and
        nothing else
    python -m benchmarks.programs.cluster_task fit ROUNDS STEPS
        Keras `fit`, whose workers agree on commands in a collective of its own: now and then (the
        lab's way), at every step, never

`TF_CONFIG` says which worker this is. What it finds is one line of JSON on stdout.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measuring.blocks import children_s, in_turns
from strategy_core.processes.parent_death import tie_to

BATCH_SIZE = 1024
WARM_UP_STEPS = 20


def main() -> None:
    tie_to(os.getppid())  # ends with the benchmark, also if that is killed
    what, *arguments = sys.argv[1:]
    if what == "plain":
        plain()
    elif what == "fit":
        fit(*map(int, arguments))
    else:
        folder, *numbers = arguments
        recording(Path(folder), *map(int, numbers))
    sys.stdout.flush()
    os._exit(0)  # TensorFlow's own way out takes seconds


def plain() -> None:
    """The program of TensorFlow's own tutorial, on the lab's workload."""
    import tensorflow as tf

    from strategy_core.workloads import digits_mlp as workload

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model, optimizer = workload.build_model(), workload.build_optimizer()
        optimizer.build(model.trainable_variables)
    dataset = workload.build_dataset(BATCH_SIZE, 0)
    batches = iter(strategy.experimental_distribute_dataset(dataset))

    def replica_step(batch: Any) -> Any:
        features, labels = batch
        with tf.GradientTape() as tape:
            losses = workload.loss_fn(labels, model(features, training=True))
            loss = tf.nn.compute_average_loss(losses, global_batch_size=BATCH_SIZE)
        optimizer.apply(tape.gradient(loss, model.trainable_variables))
        return loss

    def train_step(batch: Any) -> Any:
        return strategy.reduce("SUM", strategy.run(replica_step, args=(batch,)), axis=None)

    tf.function(train_step)(next(batches)).numpy()
    print(json.dumps({"done": True}), flush=True)
    sys.stdin.read()  # until all are done: a peer may still be in that step


def recording(folder: Path, hidden: int, rounds: int, steps: int) -> None:
    """Seconds of blocks of steps, of each contestant, as this worker saw them.

    `hidden` units make the model: 75 parameters each.
    """
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    from strategy_core.cluster.command_agreement import CommandAgreement
    from strategy_core.cluster.tasks import cluster_of
    from strategy_core.cluster.telemetry.clock import join_clock
    from strategy_core.cluster.telemetry.link_meter import LinkMeter
    from strategy_core.recorder.recorder import Recorder
    from strategy_core.runtime import logical_devices
    from strategy_core.training import segment, state
    from strategy_profiles.run.layout import worker_folder
    from strategy_profiles.spec.run_spec import RunSpec

    config = json.loads(os.environ["TF_CONFIG"])
    process, addresses = config["task"]["index"], config["cluster"]["worker"]
    num_workers = len(addresses)
    spec = RunSpec(
        strategy="multi-worker-mirrored",
        devices="cpu:1",
        workers=num_workers,
        workload="digits-mlp",
        workload_options={"hidden": hidden},
        global_batch_size=BATCH_SIZE,
    )
    logical_devices.create_logical_devices(spec)
    built = segment.build(spec, agreement=CommandAgreement(process, num_workers))
    cluster = cluster_of(spec, addresses)
    recorder = Recorder(worker_folder(folder, process), capture=spec.capture)
    recorder.links, recorder.clock = LinkMeter(cluster, process), join_clock(cluster, process)
    opened = built.opened(0, 0)
    recorder.open_segment(opened, lambda: state.variables(built.model, built.optimizer))

    def recorded() -> None:
        with recorder.step(examples=BATCH_SIZE) as step:
            built.loop.run_step(step)

    contestants = {"recorded": recorded, **_unrecorded(built)}
    for one in contestants.values():
        for _ in range(WARM_UP_STEPS):
            one()
    helper_s = children_s()
    blocks = in_turns(contestants, rounds=rounds, steps=steps)
    recorder.settle()  # what is still to be converted counts, too
    print(json.dumps({"blocks": blocks, "helper_s": children_s() - helper_s}), flush=True)
    sys.stdin.read()


def _unrecorded(built: Any) -> dict[str, Callable[[], object]]:
    """The steps of a bare run, and the same with the light marks in their graph, which are read."""
    from strategy_core.training.injected_delay import Delays
    from strategy_core.training.train_step import Step, build_step

    def step_of(with_marks: bool) -> Step:
        parts = (built.strategy, built.model, built.optimizer, built.work)
        return build_step(*parts, delays=Delays({}), with_marks=with_marks)

    bare_step, marked_step = step_of(False), step_of(True)

    def bare() -> None:
        bare_step(*next(built.custom.batches)).numpy()

    def marked() -> None:
        marked_step(*next(built.custom.batches)).numpy()

    return {"bare": bare, "marks": marked}


def fit(rounds: int, steps: int) -> None:
    """The same of `fit`, by how often its workers agree; nothing is recorded."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    from strategy_core.cluster.barrier import sum_over_replicas
    from strategy_core.cluster.command_agreement import CommandAgreement
    from strategy_core.recorder.step import RecordedStep
    from strategy_core.runtime import logical_devices
    from strategy_core.training import segment
    from strategy_core.training.keras_fit import FitAgreement
    from strategy_profiles.spec.run_spec import RunSpec

    config = json.loads(os.environ["TF_CONFIG"])
    process, num_workers = config["task"]["index"], len(config["cluster"]["worker"])
    spec = RunSpec(
        strategy="multi-worker-mirrored",
        devices="cpu:1",
        workers=num_workers,
        workload="digits-mlp",
        loop="fit",
        global_batch_size=BATCH_SIZE,
    )
    logical_devices.create_logical_devices(spec)
    agreement = CommandAgreement(process, num_workers)
    built = segment.build(spec, agreement=agreement)
    summed = sum_over_replicas(built.strategy)
    loop: Any = built.loop

    class EveryStep:
        def step_done(self) -> None:
            agreement.take_sum(summed(agreement.contribution()).tolist())

    def step_by(how: Any) -> Callable[[], None]:
        def one() -> None:
            loop.agreement = how
            loop.run_step(RecordedStep(0))

        return one

    ways = {"at every step": EveryStep(), "now and then": FitAgreement(agreement, summed)}
    contestants = {name: step_by(how) for name, how in ways.items()} | {"bare": step_by(None)}
    in_turns(contestants, rounds=2, steps=WARM_UP_STEPS)
    blocks = in_turns(contestants, rounds=rounds, steps=steps)
    print(json.dumps({"blocks": blocks, "helper_s": 0.0}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
