"""A workload whose data, model, loss and optimizer do not fit together: told before a step, in one
sentence each; what only a later batch can show, when it comes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec
from tests.strategy_core.training.test_user_files import GOOD, OWN_STEP, workload_file

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]

NAMED = GOOD.replace("[keras", "[keras.Input((5,)), keras")
"""Its model says what it takes."""
STREAM = "return tf.data.Dataset.from_tensor_slices((numbers, labels)).batch(global_batch_size)"


def data(line: str, text: str = NAMED) -> str:
    """The file with a line before its data set is made."""
    return text.replace(f"    {STREAM}", f"    {line}\n    {STREAM}")


def stream(line: str) -> str:
    """The file with another data set."""
    return NAMED.replace(STREAM, f"return {line}")


def loss(line: str) -> str:
    return f"{NAMED}\ndef loss_fn(labels, outputs):\n    return {line}\n"


def model(line: str) -> str:
    return NAMED.replace("return keras.Sequential", f"return {line}\n    return keras.Sequential")


def step(line: str) -> str:
    return f"{NAMED}\ndef train_step(model, optimizer, batch):\n    return {line}\n"


ONE_OUTPUT = NAMED.replace("units=3", "units=1")
CALL = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(3)
        self.build((None, 5))
    def call(self, features):
        return self.dense(features).numpy()

def build_model():
    return Net()
"""
MISTAKES = {
    "features of another shape": (
        data("numbers = numbers[:, :3]"),
        (
            r"model of mine.py does not take features float32 \(n, 3\): it takes "
            r"float32 \(n, 5\)"
        ),
    ),
    "features of another rank": (data("numbers = numbers[:, 0]"), r"float32 \(n,\): it takes"),
    "words": (data("numbers = numbers.astype(str)"), r"string \(n, 5\): it takes float32"),
    "two inputs": (data("numbers = {'a': numbers, 'b': numbers}"), r"features \{a: float32 \(n"),
    "a model's own call": (NAMED + CALL, r"float32 \(n, 5\): AttributeError: .* \(line 18\)"),
    "of unknown shape": (
        stream(
            "tf.data.Dataset.from_generator(lambda: [(numbers[:8, :3], labels[:8])], "
            "(tf.float32, tf.int32))"
        ),
        r"float32 \(n, 3\): it takes",
    ),
    "ragged": (
        data("numbers = tf.ragged.constant([[1.0, 2.0], [3.0]] * 20)"),
        r"yields \(ragged float32 \(n, \?\), int32 \(n,\)\), not dense tensors\. Make them",
    ),
    "sparse": (
        data("numbers = tf.sparse.from_dense(numbers)"),
        "yields .sparse .*, not dense tensors",
    ),
    "no class for a label": (
        data("labels = labels + 1"),
        "Label 3 in the first batch of mine.py is outside 0 to 2, the classes of a model with 3",
    ),
    "labels with an axis more": (
        data("labels = labels[:, None]"),
        r"class numbers .*, not labels int32 \(n, 1\) and outputs float32 \(n, 3\)",
    ),
    "labels of another width": (
        data("labels = np.eye(4, dtype='float32')[labels]"),
        r"shape of the outputs, not labels float32 \(n, 4\) and outputs .*\(n, 3\)",
    ),
    "labels of words": (
        data("labels = np.array(['a'] * 40)"),
        r"takes numbers.*labels string \(n,",
    ),
    "labels by name": (data("labels = {'a': labels}"), "of one tensor each, not labels {a: int32"),
    "fewer labels": (
        stream(
            "tf.data.Dataset.zip(*(tf.data.Dataset.from_tensor_slices(part).batch(size) "
            "for part, size in ((numbers, 8), (labels, 4))))"
        ),
        "features and labels of different numbers: 4 and 8",
    ),
    "an empty data set": (
        stream("tf.data.Dataset.range(0).batch(8).map(lambda n: (n, n))"),
        "empty",
    ),
    "another batch size": (
        NAMED.replace("batch(global_batch_size)", "batch(4)"),
        "a first batch of 4 examples, not of global_batch_size=8",
    ),
    "batches of nothing": (
        stream("tf.data.Dataset.from_tensors((numbers[:0], labels[:0]))"),
        "a first batch of 0",
    ),
    "data that raise": (
        data("numbers = tf.io.decode_raw(tf.io.read_file('absent'), tf.float32)"),
        r"build_dataset of mine.py raised NotFoundError: .* \(line 10\)",
    ),
    "batches that raise": (
        stream("tf.data.Dataset.range(40).map(lambda n: (tf.strings.to_number('x'), n)).batch(8)"),
        "The first batch of mine.py raised InvalidArgumentError: String",
    ),
    "loss of other outputs": (
        loss("tf.matmul(outputs, tf.zeros((2, 7)))"),
        (
            r"loss_fn of mine.py, for labels int32 \(n,\) and .*, raised ValueError: "
            r"Dimensions .* 3 and 2 with input shapes: \[n,3\], \[2,7\] \(line 13\)"
        ),
    ),
    "loss of nothing": (loss("None"), "loss_fn returned NoneType, not one loss per example"),
    "loss over the other axis": (loss("tf.reduce_mean(outputs, 0)"), r"returned shape \(3,\) for"),
    "loss of all pairs": (
        ONE_OUTPUT.replace('dtype="int32"', 'dtype="float32"')
        + "\ndef loss_fn(labels, outputs):\n    return (labels - outputs) ** 2\n",
        r"one loss per pair of examples, \(n, n\), for labels float32 \(n,\) and .*\(n, 1\)",
    ),
    "loss of whole numbers": (loss("labels"), "returned type int32, not one"),
    "loss without outputs": (
        loss("tf.cast(labels, tf.float32)"),
        "no gradient for the model's outputs",
    ),
    "loss by name": (
        NAMED + "\nloss_fn = 'mse'\n",
        "loss_fn = 'mse' of .*mine.py is not a function",
    ),
    "two outputs": (
        model("keras.Model(i := keras.Input((5,)), [keras.layers.Dense(3)(i)] * 2)"),
        r"one tensor each, not labels int32 \(n,\) and outputs \(float32 \(n, 3\), float32",
    ),
    "a model without weights": (
        model("keras.Sequential([keras.Input((5,)), keras.layers.Flatten()])"),
        "returned a Sequential without trainable weights. Add a layer",
    ),
    "no model": (
        model("None"),
        "build_model of mine.py returned None, not a keras.Model. Return what",
    ),
    "an optimizer's class": (
        NAMED + "\ndef build_optimizer():\n    return keras.optimizers.Adam\n",
        "returned the class Adam, not a keras.optimizers.Optimizer. Call it",
    ),
    "a step that gives nothing": (
        step("None"),
        "train_step of mine.py returned NoneType, not one scalar",
    ),
    "a step that gives many": (step("model(batch[0])"), r"returned float32 \(n, 3\), not one"),
    "a step that raises": (
        step("batch[0].numpy()"),
        r"train_step of mine.py raised Attr.*\(line 13\)",
    ),
    "a step that fails": (
        step("tf.gather(tf.reduce_mean(model(batch[0]), 0), 9 + batch[1])[0]"),
        r"Index \d+ in the batch of step 0 of mine.py is outside 0 to 2, the 3 rows",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mismatch_of_data_and_model_is_reported_in_one_sentence(
    mistake: str, tmp_path: Path
) -> None:
    from tests.strategy_core.in_memory import trained

    text, message = MISTAKES[mistake]
    with pytest.raises(SpecError, match=message):
        trained(1, devices="cpu:2", workload=workload_file(tmp_path, text), global_batch_size=8)


UNDER_FIT = {
    "labels by name": r"fit needs .* labels \{a: int32 \(n,\)\} .* Choose the custom loop",
    "features of another shape": "does not take features",
    "loss of other outputs": "loss_fn of mine.py, for labels",
    "no class for a label": "Label 3 in the first batch",
}


@pytest.mark.parametrize("mistake", UNDER_FIT)
def test_a_mismatch_is_reported_the_same_under_fit(mistake: str, tmp_path: Path) -> None:
    from tests.strategy_core.in_memory import opened

    workload = workload_file(tmp_path, MISTAKES[mistake][0])
    with pytest.raises(SpecError, match=UNDER_FIT[mistake]):
        opened(devices="cpu:2", workload=workload, global_batch_size=8, loop="fit")


LATER = {
    "a class": (
        data("labels[30] = 9"),
        "Label 9 in the batch of step 3 of mine.py is outside 0 to 2, .* Number the",
    ),
    "an index": (
        data("numbers = np.arange(200).reshape(40, 5) // 8").replace(
            "keras.layers.Dense(units)",
            "keras.layers.Embedding(12, 2), keras.layers.Flatten(), keras.layers.Dense(units)",
        ),
        "Index 1[2-4] in the batch of step 2 of mine.py is outside 0 to 11, the 12 rows",
    ),
    "Python in the data": (
        NAMED.replace(
            STREAM,
            "def examples():\n"
            "        yield from zip(numbers[:24], labels[:24])\n"
            "        raise KeyError('no more')\n"
            "    shapes = tf.TensorSpec((5,)), tf.TensorSpec((), tf.int32)\n"
            "    return tf.data.Dataset.from_generator(examples, output_signature=shapes)"
            ".batch(global_batch_size)",
        ),
        r"Step 3 of mine.py raised .*KeyError: 'no more' \(line 12\)",
    ),
}


@pytest.mark.parametrize("loop", ["custom", "fit"])
@pytest.mark.parametrize("mistake", LATER)
def test_a_mismatch_in_a_later_batch_is_reported_at_that_batch(
    mistake: str, loop: str, tmp_path: Path
) -> None:
    from tests.strategy_core.in_memory import opened, run_steps

    text, message = LATER[mistake]
    training, recorder = opened(
        devices="cpu:2", workload=workload_file(tmp_path, text), global_batch_size=8, loop=loop
    )
    with pytest.raises(SpecError, match=message):
        run_steps(training, 6)
    training.close()
    assert len(recorder.losses) == (2 if mistake == "an index" else 3)


TWO_ERRORS = """Graph execution error:

Detected at node adam/CollectiveReduceV2_1 defined at (most recent call last):
2 root error(s) found.
  (0) UNKNOWN:  KeyError: 'no more'
Traceback (most recent call last):

  File "{path}", line 12, in examples
    raise KeyError('no more')

KeyError: 'no more'

  (1) CANCELLED:  Operation was cancelled for BufRendezvous key 1217:103:0:0:0:0:0
\t [[{{{{node adam/CollectiveReduceV2_1}}}}]]
"""


def test_an_error_of_the_data_is_found_beside_a_collective_that_was_cancelled_for_it(
    tmp_path: Path,
) -> None:
    import tensorflow as tf

    from strategy_core.training.step_errors import explanation

    path = workload_file(tmp_path, NAMED)
    spec = RunSpec(workload=str(path))
    error = tf.errors.UnknownError(None, None, TWO_ERRORS.format(path=path))
    explained = explanation(spec, 3, error)
    assert "raised UnknownError: KeyError: 'no more' (line 12)" in str(explained)
    alone = TWO_ERRORS.replace(
        "  (0) UNKNOWN:  KeyError", "  (0) UNKNOWN:  Collective ops aborted by KeyError"
    )
    assert explanation(spec, 3, tf.errors.UnknownError(None, None, alone.format(path=path))) is None


def small(rows: int) -> str:
    return data(f"numbers, labels = numbers[:{rows}], labels[:{rows}]")


FITTING: dict[str, Any] = {
    "values for one output": ONE_OUTPUT.replace('dtype="int32"', 'dtype="float32"'),
    "fewer examples than a batch": small(5),
    "numbers of another type": data("numbers = (numbers > 0)"),
    "a data set that ends": NAMED.replace(STREAM, f"{STREAM}.take(2)"),
    "of unknown rank": stream(
        "tf.data.Dataset.from_generator(lambda: [(numbers[:8], labels[:8])], "
        "(tf.float32, tf.int32))"
    ),
}


@pytest.mark.parametrize("loop", ["custom", "fit"])
@pytest.mark.parametrize("kind", FITTING)
def test_unusual_but_matching_workloads_train(kind: str, loop: str, tmp_path: Path) -> None:
    from tests.strategy_core.in_memory import trained

    workload = workload_file(tmp_path, FITTING[kind])
    losses, _ = trained(
        3,
        devices="cpu:2",
        workload=workload,
        global_batch_size=8,
        loop=loop,
    )
    assert np.isfinite(losses).all()


def test_values_for_one_output_are_not_broadcast() -> None:
    """(n,) less (n, 1) would be (n, n): the first loss is that of NumPy."""
    import tensorflow as tf

    from strategy_core.training.loss import default_loss

    labels, outputs = np.arange(4, dtype=np.float32), np.ones((4, 1), np.float32)
    losses = default_loss(tf.constant(labels), tf.constant(outputs))
    np.testing.assert_allclose(losses, (labels - outputs[:, 0]) ** 2)


def test_an_error_in_an_own_train_step_names_its_line(tmp_path: Path) -> None:
    from tests.strategy_core.in_memory import trained

    workload = workload_file(
        tmp_path, NAMED + OWN_STEP.replace("features, labels", "labels, features")
    )
    with pytest.raises(SpecError, match=r"train_step of mine.py raised Value.*\(line 15\)"):
        trained(1, devices="cpu:2", workload=workload, global_batch_size=8)
