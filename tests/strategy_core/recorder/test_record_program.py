"""`lab.record` and `lab.RecorderCallback` in programs as TensorFlow's tutorials write them."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import strategy_profiles
from strategy_core.launcher.last_captures import convert_last_captures
from strategy_core.private_tf import engine
from strategy_core.processes import resource_use
from strategy_core.recorder import wall_clock
from strategy_core.recorder.converter import Converter
from strategy_core.recorder.window import Window
from strategy_profiles.analysis.machine_load import machine_load
from strategy_profiles.capture.helper import Job
from strategy_profiles.capture.pending import read_pending
from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import Note
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.run.manifest import uid_of
from strategy_profiles.spec.run_spec import Capture
from tests.event_records import read_records
from tests.timeouts import wait_until

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]

BATCH = 16
EXAMPLES = 5 * BATCH + 6
"""The last batch is partial."""


def _data() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    images = random.normal(size=(EXAMPLES, 8, 8, 1)).astype("float32")
    return images, random.integers(0, 10, EXAMPLES)


def _model() -> Any:
    import keras

    return keras.Sequential(
        [keras.Input((8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(10)]
    )


def _tutorial(num_batches: int = 6) -> tuple[Any, Any, Callable[[Any], Any]]:
    """Strategy, distributed dataset and train step of the custom training tutorial."""
    import keras
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy(
        ["/cpu:0", "/cpu:1"], tf.distribute.ReductionToOneDevice()
    )
    with strategy.scope():
        model = _model()
        optimizer = keras.optimizers.SGD(0.01)
        optimizer.build(model.trainable_variables)
        loss_object = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)

    def train_step(inputs: Any) -> Any:
        images, labels = inputs
        with tf.GradientTape() as tape:
            losses = loss_object(labels, model(images, training=True))
            loss = tf.nn.compute_average_loss(losses, global_batch_size=BATCH)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    @tf.function
    def distributed_train_step(inputs: Any) -> Any:
        losses = strategy.run(train_step, args=(inputs,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    dataset = tf.data.Dataset.from_tensor_slices(_data()).batch(BATCH).take(num_batches)
    return strategy, strategy.experimental_distribute_dataset(dataset), distributed_train_step


def _events(run: Path) -> list[dict[str, Any]]:
    return read_records(worker_folder(run, 0).events)


def _of_kind(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["kind"] == kind]


def test_the_batches_of_a_dataset_are_counted_and_not_taken_for_full_ones(tmp_path: Path) -> None:
    import strategy_core as lab

    strategy, dataset, train_step = _tutorial()
    run = tmp_path / "mine"
    with lab.record(run, strategy, global_batch_size=BATCH) as recorder:
        for batch in recorder.dataset(dataset):
            with recorder.step() as step:
                step.result(loss=train_step(batch))
        for own in (3, None):
            with recorder.step(examples=own):
                pass
    examples = [step["examples"] for step in _of_kind(_events(run), "step")]
    assert examples == [BATCH] * 5 + [6, 3, BATCH]


def test_a_batch_that_is_fetched_inside_of_a_step_is_that_steps(tmp_path: Path) -> None:
    import strategy_core as lab

    strategy, dataset, train_step = _tutorial()
    with lab.record(tmp_path / "run", strategy, global_batch_size=BATCH) as recorder:
        batches = iter(recorder.dataset(dataset))
        for _ in range(6):
            with recorder.step():
                train_step(next(batches))
    steps = strategy_profiles.load(tmp_path / "run").table("steps")
    assert steps["step"].to_pylist() == list(range(6))
    assert steps["examples"].to_pylist() == [BATCH] * 5 + [EXAMPLES % BATCH]
    assert steps["input_ms"].null_count == 0
    assert len(_of_kind(_events(tmp_path / "run"), "step")) == 6


def test_what_a_conversion_needs_is_on_disk_until_its_result_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A launcher converts the captures of a worker that was killed meanwhile."""
    import strategy_core as lab

    strategy, dataset, train_step = _tutorial()
    folder = worker_folder(tmp_path / "run", 0)
    submitted, on_disk = [], []
    submit = Converter.submit

    def note(converter: Converter, job: Job) -> None:
        submitted.append(job)
        left, _ = read_pending(folder)
        on_disk.append([one.job for one in left if one.job.number == job.number])
        submit(converter, job)

    monkeypatch.setattr(Converter, "submit", note)
    capture = Capture(every_step=True, window_steps=2)
    with lab.record(folder.path.parent, strategy, capture=capture) as recorder:
        for batch in dataset:
            with recorder.step():
                train_step(batch)
    assert submitted
    assert on_disk == [[job] for job in submitted]
    assert len(_of_kind(_events(tmp_path / "run"), "window")) == len(submitted)
    assert not folder.all_pending()


def test_a_capture_is_described_before_the_profiler_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the run is what a process leaves that is killed as soon as the file is there."""
    import strategy_core as lab

    run, copy = tmp_path / "run", tmp_path / "copy"
    write = Window._write

    def write_and_copy(window: Window) -> None:
        write(window)
        if not copy.exists():
            shutil.copytree(run, copy, ignore=shutil.ignore_patterns(".trace-*", "*-000001*"))

    monkeypatch.setattr(Window, "_write", write_and_copy)
    strategy, dataset, train_step = _tutorial()
    with lab.record(run, strategy, capture=Capture(every_step=True, window_steps=2)) as recorder:
        for batch in dataset:
            with recorder.step():
                train_step(batch)
    (outcome,) = convert_last_captures([worker_folder(copy, 0)])
    assert outcome.error is None
    (window,) = _of_kind(_events(copy), "window")
    assert window["num_steps"] == _of_kind(_events(run), "window")[0]["num_steps"]
    assert window["num_spans"] > 0
    assert not list(worker_folder(run, 0).path.glob(".[wp]*"))


def test_a_clock_that_is_set_by_an_hour_is_noted_and_changes_no_step_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import strategy_core as lab

    with lab.record(tmp_path / "mine") as recorder:
        an_hour_later = SimpleNamespace(
            time_ns=lambda: time.time_ns() + 3600 * 10**9, monotonic_ns=time.monotonic_ns
        )
        monkeypatch.setattr(wall_clock, "time", an_hour_later)
        for _ in range(3):
            with recorder.step():
                pass
    run = strategy_profiles.load(tmp_path / "mine")
    notes = [note.message for note in run.events(Note) if "wall clock" in note.message]
    assert len(notes) == 1
    assert "went forward by 3600" in notes[0]
    assert {"level": "warning", "message": notes[0]} in run.summary()["notes"]
    assert max(run.table("steps")["wall_ms"].to_pylist()) < 3600e3


def test_a_program_without_a_launcher_samples_its_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import strategy_core as lab
    from strategy_core.recorder import recorder as recorder_module

    monkeypatch.setattr(resource_use, "EVERY_S", 0.0)
    monkeypatch.setattr(recorder_module, "SAMPLE_EVERY_NS", 0)
    with lab.record(tmp_path / "mine") as recorder:
        for _ in range(5):
            with recorder.step():
                sum(range(100_000))
    run = strategy_profiles.load(tmp_path / "mine")
    rows = run.table("resources").to_pylist()
    assert len(rows) >= 2
    assert {(row["worker"], row["generation"]) for row in rows} == {(0, 0)}
    assert all(row["resident_bytes"] > 10_000_000 for row in rows)
    assert machine_load(run, 0) is not None


def test_a_batch_may_be_any_object() -> None:
    import pandas as pd
    import tensorflow as tf

    from strategy_core.recorder.examples import num_examples

    ragged = tf.ragged.constant([[1], [2, 3], []])
    assert num_examples((ragged, 0)) == 3
    assert num_examples({"a": pd.DataFrame({"x": [1, 2]})}) == 2
    assert [num_examples(each) for each in ("text", 1.0, [], tf.constant(1), object())] == [
        None
    ] * 5


def test_record_captures_a_tutorial_training_loop(tmp_path: Path) -> None:
    import strategy_core as lab

    strategy, dataset, train_step = _tutorial(num_batches=4)
    run = tmp_path / "mine"
    with lab.record(
        run, strategy, capture=Capture(window_steps=5, overhead_budget=0.001)
    ) as recorder:
        for _epoch in range(3):
            for batch in recorder.dataset(dataset):
                with recorder.step() as step:
                    step.result(loss=train_step(batch))
    events = _events(run)
    assert _of_kind(events, "worker_started")[0]["run"] == uid_of(run)
    steps = _of_kind(events, "step")
    assert [s["step"] for s in steps] == list(range(12))
    assert all(np.isfinite(s["loss"]) for s in steps)
    assert all(0 < s["input_ms"] <= s["wall_ms"] for s in steps)
    (segment,) = _of_kind(events, "segment")
    assert segment["strategy"] == "mirrored"
    assert segment["num_replicas"] == 2
    assert segment["global_batch_size"] is None
    assert segment["replica_devices"][1].endswith("/device:CPU:1")
    (window,) = _of_kind(events, "window")
    assert window["error"] is None
    captured = [s["step"] for s in steps if s["captured"]]
    assert captured == list(range(2, 2 + window["num_steps"]))
    # Over the end of an epoch. Fewer than asked for where steps are long, more where the first of
    # them are far shorter than the steps before the window, as on a busy machine.
    assert 3 <= window["num_steps"] <= 10
    folder = worker_folder(run, 0).path / window["folder"]
    rows = pq.read_table(folder / "replica_steps.parquet").to_pylist()
    assert {(row["step"], row["replica"]) for row in rows} == {
        (step, replica) for step in captured for replica in (0, 1)
    }
    assert all(row["compute_ms"] > 0 for row in rows)
    assert all(row["input_ms"] > 0 for row in rows)
    walls = {s["step"]: s["wall_ms"] for s in steps}
    # The profiler's idea of a step and the recorder's: a busy machine may pause between the two.
    apart_ms = [abs(row["wall_ms"] - walls[row["step"]]) for row in rows]
    assert np.median(apart_ms) <= 0.05 + 0.01 * np.median(list(walls.values()))
    assert _of_kind(events, "environment")[0]["tensorflow"]
    assert _of_kind(events, "memory")[0]["source"] == "process-resident"
    assert _of_kind(events, "finished")[0]["steps"] == 12
    raw = worker_folder(run, 0).path / window["xplane"]
    assert raw.is_file()
    assert raw.parent.parent.parent.name == "plugins"


@pytest.mark.parametrize(
    ("made", "expected"), [("mirrored", ("mirrored", 2)), ("none", ("default", 1))]
)
def test_the_strategy_is_found_without_being_named(
    made: str, expected: tuple[str, int], tmp_path: Path
) -> None:
    """In a process of its own: strategies of other tests may be alive here."""
    program = (
        "import sys\n"
        "import tensorflow as tf\n"
        "import strategy_core as lab\n"
        "cpu = tf.config.list_physical_devices('CPU')[0]\n"
        "two = [tf.config.LogicalDeviceConfiguration()] * 2\n"
        "tf.config.set_logical_device_configuration(cpu, two)\n"
        "if sys.argv[2] == 'mirrored':\n"
        "    strategy = tf.distribute.MirroredStrategy(['CPU:0', 'CPU:1'])\n"
        "with lab.record(sys.argv[1]) as recorder, recorder.step() as step:\n"
        "    step.result(loss=tf.constant(1.0))\n"
    )
    run = tmp_path / "run"
    subprocess.run([sys.executable, "-c", program, str(run), made], check=True)
    (segment,) = _of_kind(_events(run), "segment")
    assert (segment["strategy"], segment["num_replicas"]) == expected
    assert segment["replica_devices"][0].endswith("device:CPU:0")


def test_each_strategy_of_tensorflow_has_the_labs_name() -> None:
    import tensorflow as tf

    from strategy_core.recorder.program import strategy_name

    distribute = tf.distribute
    expected = {
        distribute.MirroredStrategy: "mirrored",
        distribute.OneDeviceStrategy: "one-device",
        distribute.experimental.CentralStorageStrategy: "central-storage",
        distribute.MultiWorkerMirroredStrategy: "multi-worker-mirrored",
        distribute.experimental.MultiWorkerMirroredStrategy: "multi-worker-mirrored",
        distribute.ParameterServerStrategy: "parameter-server",
        distribute.TPUStrategy: "tpu",
        type(distribute.get_strategy()): "default",
    }
    named = {kind: strategy_name(object.__new__(kind)) for kind in expected}
    assert named == expected
    derived = type("PatientMirrored", (distribute.MirroredStrategy,), {})
    assert strategy_name(object.__new__(derived)) == "mirrored"


@pytest.mark.parametrize("steps_per_execution", [1, 2])
def test_the_callback_records_keras_fit(tmp_path: Path, steps_per_execution: int) -> None:
    import tensorflow as tf

    import strategy_core as lab

    strategy = tf.distribute.MirroredStrategy(
        ["/cpu:0", "/cpu:1"], tf.distribute.ReductionToOneDevice()
    )
    with strategy.scope():
        model = _model()
        model.compile("sgd", "mse", steps_per_execution=steps_per_execution)
    images, labels = _data()
    targets = np.eye(10, dtype="float32")[labels]
    run = tmp_path / "fit"
    callback = lab.RecorderCallback(run, capture=Capture(window_steps=3, overhead_budget=0.001))
    with engine.iterators_without_autotune():  # fit would wait for tuning threads to end
        model.fit(images, targets, batch_size=BATCH, epochs=2, verbose=0, callbacks=[callback])
    events = _events(run)
    steps = _of_kind(events, "step")
    assert [s["step"] for s in steps] == list(range(12 // steps_per_execution))
    assert all(np.isfinite(s["loss"]) for s in steps)
    (placement,) = _of_kind(events, "placement")
    assert placement["reason"] is None
    rows = pq.read_table(worker_folder(run, 0).path / placement["file"]).to_pylist()
    held = {(r["name"], r["device"][-5:]) for r in rows if r["kind"] == "variable"}
    assert len({name for name, device in held if device == "CPU:1" and "kernel" in name}) == 1
    (window,) = _of_kind(events, "window")
    assert window["error"] is None
    path = worker_folder(run, 0).path / window["folder"] / "replica_steps.parquet"
    for row in pq.read_table(path).to_pylist():
        assert row["compute_ms"] > 0
    assert _of_kind(events, "finished")


def test_a_running_profiler_costs_the_window_but_not_the_training(tmp_path: Path) -> None:
    import tensorflow as tf

    import strategy_core as lab

    strategy, dataset, train_step = _tutorial()
    tf.profiler.experimental.start(str(tmp_path / "somebody-else"))
    try:
        with lab.record(tmp_path / "run", strategy) as recorder:
            for batch in dataset:
                with recorder.step():
                    train_step(batch)
    finally:
        tf.profiler.experimental.stop()
    events = _events(tmp_path / "run")
    assert len(_of_kind(events, "step")) == 6
    assert not any(step["captured"] for step in _of_kind(events, "step"))
    (window,) = _of_kind(events, "window")
    assert "Another profiler is running" in window["error"]
    assert list((tmp_path / "somebody-else").rglob("*.xplane.pb"))


def test_the_steps_and_the_error_of_a_failed_program_are_recorded(tmp_path: Path) -> None:
    import strategy_core as lab

    strategy, dataset, train_step = _tutorial()
    batch = next(iter(dataset))

    def train() -> None:
        with lab.record(tmp_path / "run", strategy) as recorder:
            for number in range(9):
                with recorder.step():
                    train_step(batch)
                    if number == 4:
                        raise ValueError("NaN in the loss")

    with pytest.raises(ValueError, match="NaN in the loss"):
        train()
    events = _events(tmp_path / "run")
    assert len(_of_kind(events, "step")) == 4
    assert _of_kind(events, "window")[0]["error"] is None, "the open window is kept"
    assert _of_kind(events, "failed")[0]["message"] == "ValueError: NaN in the loss"
    assert not _of_kind(events, "finished")


def test_the_graph_is_written_when_the_first_window_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import strategy_core as lab
    from strategy_core.recorder import planner

    monkeypatch.setattr(planner, "QUIET_STEP_MS", float("inf"))
    monkeypatch.setattr(planner, "FEWEST_EARLY_STEPS", planner.EARLY_NUM_STEPS)
    strategy, dataset, train_step = _tutorial()
    batch = next(iter(dataset))
    last = planner.EARLY_STEP + planner.EARLY_NUM_STEPS - 1
    for name, num_steps in (("long", last + 3), ("short", planner.EARLY_STEP + 1)):
        again = train_step if name == "long" else _tutorial()[2]
        with lab.record(tmp_path / name, strategy) as recorder:
            for _ in range(num_steps):
                with recorder.step():
                    again(batch)
        events = _events(tmp_path / name)
        (placement,) = _of_kind(events, "placement")
        (window,) = _of_kind(events, "window")
        assert window["error"] is None
        if name == "long":
            (last_captured,) = [s for s in _of_kind(events, "step") if s["step"] == last]
            assert last_captured["captured"]
            assert events.index(placement) > events.index(last_captured)


def test_a_full_disk_ends_the_recording_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import strategy_core as lab

    strategy, dataset, train_step = _tutorial()
    batch = next(iter(dataset))
    real_append = EventLog.append

    def append(log: EventLog, lines: Sequence[bytes]) -> None:
        if any(b'"kind":"step"' in line and json.loads(line)["step"] >= 3 for line in lines):
            raise RunFolderError("An event cannot be written: No space left on device")
        real_append(log, lines)

    monkeypatch.setattr(EventLog, "append", append)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with lab.record(tmp_path / "run", strategy) as recorder:
            for _ in range(8):
                with recorder.step():
                    train_step(batch)
    stopped = [str(w.message) for w in caught if "Recording stopped" in str(w.message)]
    assert len(stopped) == 1
    assert "No space left on device" in stopped[0]
    written = [step["step"] for step in _of_kind(_events(tmp_path / "run"), "step")]
    assert written == list(range(len(written)))  # up to the write that the disk refused
    assert len(written) <= 3
    status = strategy_profiles.load(tmp_path / "run").status
    assert status.state == "failed"
    assert status.message is not None
    assert status.message.startswith("The recording ended before the program did. An event cannot")


def test_a_replica_on_a_device_that_is_not_there_is_a_warning(tmp_path: Path) -> None:
    import tensorflow as tf

    import strategy_core as lab

    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:99"])
    with lab.record(tmp_path / "run", strategy) as recorder:
        recorder.open()
    (note,) = _of_kind(_events(tmp_path / "run"), "note")
    assert note["level"] == "warning"
    assert "a replica on CPU:99, and this process has no such device" in note["message"]


def test_programs_of_one_cluster_share_a_run_and_a_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from strategy_core.recorder.program import ProgramRecorder

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        leader = f"127.0.0.1:{free.getsockname()[1]}"
    recorders = []
    for index in range(2):
        task = {"type": "worker", "index": index}
        config = {"cluster": {"worker": [leader, "127.0.0.1:1"]}, "task": task}
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))
        recorders.append(ProgramRecorder(tmp_path / "run"))
    clock = recorders[1].recorder.clock
    assert clock is not None
    clock_events: list[Any] = []

    def is_measured() -> bool:
        clock_events.extend(clock.take_events())
        return clock_events != []

    wait_until(is_measured)
    for recorder in recorders:
        recorder.close()
    assert abs(clock_events[0].offset_ns) <= clock_events[0].uncertainty_ns
    assert sorted(path.name for path in (tmp_path / "run").glob("worker-*")) == [
        "worker-0-0",
        "worker-1-0",
    ]


def test_two_runs_in_one_folder_are_refused(tmp_path: Path) -> None:
    import strategy_core as lab

    with lab.record(tmp_path / "run"):
        pass
    with (
        pytest.raises(RunFolderError, match="run holds another run already"),
        lab.record(tmp_path / "run"),
    ):
        pass


def test_importing_the_package_imports_no_tensorflow() -> None:
    code = "import strategy_core, sys; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_recorder_shows_the_run_that_it_is_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import strategy_core as lab

    profiles: list[Any] = []
    monkeypatch.setattr("IPython.display.display", profiles.append)
    with lab.record(tmp_path / "run") as recorder:
        with recorder.step():
            pass
        recorder.show()
        (profile,) = profiles
        assert (profile.path, profile.status.state) == (tmp_path / "run", "running")
