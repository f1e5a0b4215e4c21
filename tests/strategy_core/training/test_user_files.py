"""A user's own workload file: what it may say, and one clear message for each of its mistakes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from strategy_profiles.errors import SpecError

DELAY_MS = 200
"""More than a step of the replicas that have no delay takes on a busy machine."""

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]

GOOD = """
import keras, numpy as np, tensorflow as tf

def build_model(*, units=3):
    return keras.Sequential([keras.layers.Dense(units)])

def build_dataset(global_batch_size, seed):
    numbers = np.random.default_rng(seed).normal(size=(40, 5)).astype("float32")
    labels = np.arange(40, dtype="int32") % 3
    return tf.data.Dataset.from_tensor_slices((numbers, labels)).batch(global_batch_size)
"""
OWN_STEP = """
def train_step(model, optimizer, batch):
    features, labels = batch
    with tf.GradientTape() as tape:
        outputs = model(features, training=True)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)
        loss = tf.reduce_sum(losses) / 8  # the global batch
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return tf.reduce_mean(losses)
"""


def workload_file(folder: Path, text: str) -> str:
    path = folder / "mine.py"
    path.write_text(text)
    return str(path)


def test_a_file_with_the_two_functions_trains(tmp_path: Path) -> None:
    from tests.strategy_core.in_memory import trained

    losses, _ = trained(
        3, devices="cpu:2", workload=workload_file(tmp_path, GOOD), global_batch_size=8
    )
    assert np.isfinite(losses).all()


def test_a_workloads_own_train_step_trains_the_same_with_marks_and_delays(tmp_path: Path) -> None:
    from tests.strategy_core.in_memory import opened, trained

    expected, _ = trained(
        4, strategy="default", workload=workload_file(tmp_path, GOOD), global_batch_size=8
    )
    training, recorder = opened(
        devices="cpu:4",
        workload=workload_file(tmp_path, GOOD + OWN_STEP),
        global_batch_size=8,
        inject=[{"replica": 2, "ms": DELAY_MS}],
    )
    for _ in range(4):
        training.run_step()
    np.testing.assert_allclose(recorder.losses, expected, rtol=1e-5)
    steps = np.array(recorder.marks[1:])  # the first one traces
    compute_ms = (steps[:, :, 1] - steps[:, :, 0]).min(axis=0) / 1e6
    assert compute_ms[2] >= DELAY_MS
    assert max(compute_ms[0], compute_ms[1], compute_ms[3]) < DELAY_MS


def test_a_summary_without_tensorboard_names_the_line_and_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.strategy_core.in_memory import opened

    for name in [name for name in sys.modules if name.split(".")[0] == "tensorboard"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)  # as if it was not installed
    with_summary = OWN_STEP.replace("    return", '    tf.summary.scalar("x", loss, 0)\n    return')
    text = GOOD + with_summary
    line = text[: text.index("tf.summary")].count("\n") + 1
    training, _ = opened(
        devices="cpu:2", workload=workload_file(tmp_path, text), global_batch_size=8
    )
    with pytest.raises(
        SpecError, match=rf"TensorBoard is not installed.*\(line {line}\)"
    ) as caught:
        training.run_step()
    assert "pip install tensorboard" in str(caught.value.advice)


MISTAKES = {
    "no function": ("x = 1", "mine.py has no function build_model"),
    "syntax": ("def build_model(:\n", r"raised SyntaxError: invalid syntax \(mine.py, line 1\)"),
    "raises on import": (
        "import keras\n1 / 0\n",
        r"Importing mine.py raised ZeroDivisionError: division by zero \(line 2\)",
    ),
    "exits on import": ("import sys\nsys.exit(0)\n", r"raised SystemExit: 0 \(line 2\)"),
    "model raises": (
        GOOD.replace("return keras.Seq", "raise KeyError('x')\n    return keras.Seq"),
        r"build_model of mine.py raised KeyError: 'x' \(line 5\)",
    ),
    "no model": (
        GOOD.replace("return keras.Sequential([keras.layers.Dense(units)])", "return 3"),
        "build_model of mine.py returned int, not a keras.Model",
    ),
    "no data set": (
        GOOD + "\ndef build_dataset(global_batch_size, seed):\n    return [1]\n",
        "build_dataset of mine.py returned list, not a tf.data.Dataset",
    ),
    "single examples": (
        GOOD.replace(".batch(global_batch_size)", ".map(lambda x, y: y)"),
        r"\(features, labels\) pairs",
    ),
    "too large a batch": (
        GOOD.replace(".batch(global_batch_size)", ".batch(20)"),
        "a first batch of 20 examples, not of global_batch_size=8",
    ),
    "not a number": (
        GOOD.replace('astype("float32")', 'astype("float32") * np.nan'),
        "yields NaN or infinity in the first batch",
    ),
    "scalar loss": (
        GOOD + "\ndef loss_fn(labels, outputs):\n    return tf.reduce_mean(outputs)\n",
        "one loss per example",
    ),
    "loss raises": (
        GOOD + "\ndef loss_fn(labels, outputs):\n    return outputs + undefined\n",
        r"raised NameError: name 'undefined' is not defined \(line 13\)",
    ),
    "no optimizer": (
        GOOD + "\ndef build_optimizer():\n    return 'adam'\n",
        "build_optimizer of mine.py returned str, not a keras.optimizers.Optimizer",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported_in_one_sentence(mistake: str, tmp_path: Path) -> None:
    from tests.strategy_core.in_memory import trained

    text, message = MISTAKES[mistake]
    with pytest.raises(SpecError, match=message):
        trained(1, devices="cpu:2", workload=workload_file(tmp_path, text), global_batch_size=8)


def test_options_fill_keyword_parameters_and_unknown_ones_are_named(tmp_path: Path) -> None:
    from strategy_core.training.workload import load

    path = workload_file(tmp_path, GOOD)
    assert load(path, {"units": 7}).build_model().layers[0].units == 7
    with pytest.raises(SpecError, match=r"no option 'width'\. Its options: learning_rate, units"):
        load(path, {"width": 7})
    with pytest.raises(SpecError, match="first_example"):
        load("digits-mlp", {"first_example": 7})


def test_the_error_for_an_unknown_workload_lists_the_known_ones() -> None:
    from strategy_core.planning import workload_catalog

    with pytest.raises(
        SpecError, match="built-in workloads: digits-cnn, digits-mlp, embedding, resnet50"
    ):
        workload_catalog.find("digits")
    with pytest.raises(SpecError, match="does not exist"):
        workload_catalog.find("absent.py")


LATE_NAN = GOOD.replace("    labels =", "    numbers[37, 2] = np.nan\n    labels =")


@pytest.mark.parametrize("loop", ["custom", "fit"])
def test_a_nan_in_a_later_batch_stops_the_run_at_that_batch(tmp_path: Path, loop: str) -> None:
    """The first batch is looked at before anything runs, the others when they are read."""
    from tests.strategy_core.in_memory import opened, run_steps

    training, recorder = opened(
        devices="cpu:2", workload=workload_file(tmp_path, LATE_NAN), global_batch_size=8, loop=loop
    )
    with pytest.raises(SpecError, match=r"build_dataset of mine.py yields NaN .*step 4"):
        run_steps(training, 6)
    training.close()
    assert len(recorder.losses) == 4
