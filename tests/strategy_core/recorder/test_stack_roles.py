"""What the account recognises in stacks of this TensorFlow and Keras, by running them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from strategy_core.recorder.stack_roles import Role, role_of
from strategy_core.recorder.stack_sampler import Stack, StackSampler, reduced

pytestmark = pytest.mark.tf


def _stacks_of(act: Callable[[], object]) -> set[tuple[str, str]]:
    """What is being done, and within what, at each call of a function while `act` runs."""
    sampler = StackSampler(0)
    roles: set[tuple[str, str]] = set()

    def look(frame: FrameType, event: str, _argument: object) -> None:
        if event == "c_call":
            stack = sampler._reduced(frame)
            roles.add((stack.doing, stack.within))

    sys.setprofile(look)
    try:
        act()
    finally:
        sys.setprofile(None)
    return roles


def test_what_a_custom_loop_waits_for_is_recognised() -> None:
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    data = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
    double = tf.function(lambda x: x * 2)

    def loop() -> None:
        for batch in data:
            float(tf.reduce_sum(double(batch)))

    doing = {kind for kind, _ in _stacks_of(loop)}
    assert {"epoch-start", "input", "tracing", "function", "host-read", "op"} <= doing


def test_what_keras_does_between_steps_is_recognised(tmp_path: pytest.TempPathFactory) -> None:
    import keras
    import numpy as np

    class Heavy(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: object = None) -> None:
            sum(range(epoch + len(str(logs))))

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = np.zeros((4, 2)), np.zeros((4, 1))

    def train() -> None:
        saving = keras.callbacks.ModelCheckpoint(f"{tmp_path}/a.keras")
        model.fit(x, y, validation_data=(x, y), verbose=0, callbacks=[Heavy(), saving])
        model.predict(x, verbose=0)
        model.save_weights(f"{tmp_path}/a.weights.h5")

    within = {call for _, call in _stacks_of(train)}
    assert {"validation", "callback", "predict", "checkpoint"} <= within


def test_a_callback_is_its_class_or_the_function_of_a_lambda_callback() -> None:
    listed = role_of(_function("keras/src/callbacks/callback_list.py", "on_epoch_end").__code__)
    keep = role_of(_function("/home/user/train.py", "keep").__code__)
    dump = role_of(_function("/usr/lib/python3.11/json/__init__.py", "dump").__code__)
    assert reduced([listed, keep, dump], []).call == "keep"
    heavy = keep._replace(name="Heavy.on_epoch_end")
    assert reduced([listed, heavy, keep, dump], []).call == "Heavy"
    # Keras's list of callbacks has no name, nor that of the trainer that calls it.
    trainer = role_of(_function("keras/src/backend/tensorflow/trainer.py", "fit").__code__)
    assert reduced([keep, trainer, listed], []).call == ""


def test_a_call_that_only_wrappers_are_left_of_has_returned() -> None:
    wrapper = role_of(_function("keras/src/utils/traceback_utils.py", "error_handler").__code__)
    program = role_of(_function("/home/user/train.py", "main").__code__)
    lines = [("/home/user/train.py", 3, "main")]
    assert reduced([program, wrapper], lines) == Stack("python", "", "", tuple(lines))


def test_a_file_of_checkpoints_that_is_imported_writes_none() -> None:
    path = f"{sys.prefix}/lib/site-packages/keras/src/saving/saving_api.py"
    assert role_of(compile("pass", path, "exec")).does == ""
    assert role_of(_function("keras/src/saving/saving_api.py", "save_model").__code__).does


def _function(path: str, name: str) -> Callable[[], None]:
    names: dict[str, Callable[[], None]] = {}
    folder = "" if path.startswith("/") else f"{sys.prefix}/lib/site-packages/"
    exec(compile(f"def {name}(): pass", folder + path, "exec"), names)
    return names[name]


def test_waiting_for_the_workers_of_a_coordinator_is_recognised() -> None:
    import tensorflow as tf

    values = sys.modules["tensorflow.python.distribute.coordinator.values"]
    joining = role_of(tf.distribute.coordinator.ClusterCoordinator.join.__code__)
    fetching = role_of(values.RemoteValueImpl._wait_and_maybe_error.__code__)
    assert reduced([joining], []).doing == "workers"
    assert reduced([fetching], []).doing == "workers"


def test_what_a_data_set_does_at_the_end_of_an_epoch_is_the_programs_own_code() -> None:
    adapter = "keras/src/trainers/data_adapters/py_dataset_adapter.py"
    keras_end = role_of(_function(adapter, "on_epoch_end").__code__)
    taking = role_of(_function(adapter, "get_tf_dataset").__code__)
    own = Role("program", name="Pairs.on_epoch_end")
    table = Role("program", name="PairMiner.table")
    assert reduced([keras_end, own, table], []).doing == "python"
    assert reduced([taking, Role("program", name="Pairs.__getitem__")], []).doing == "input"


def test_workers_that_tell_each_other_whether_a_batch_is_left_are_recognised() -> None:
    """Only with several workers; one alone reduces nothing while it takes a batch."""
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    data = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
    taking = role_of(type(iter(data)).__next__.__code__)
    reducing = role_of(tf.distribute.Strategy.reduce.__code__)
    assert reduced([taking, reducing], []).doing == "agreement"
    assert reduced([taking], []).doing == "input"
    assert reduced([reducing], []).doing == "call"


def test_freeing_what_fit_has_called_is_the_start_of_an_epoch() -> None:
    """Keras's wrapper of `evaluate` has returned, and the iterator that it made is freed."""
    import keras

    wrapper = role_of(keras.Model.fit.__code__)
    fit = role_of(keras.Model.fit.__wrapped__.__code__)
    assert reduced([wrapper, fit, wrapper], []).doing == "epoch-start"


def test_a_step_of_fit_with_the_recorders_callback_is_not_the_recorders_time(
    tmp_path: pytest.TempPathFactory,
) -> None:
    import keras
    import numpy as np

    import strategy_core as lab

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    recorder = lab.RecorderCallback(f"{tmp_path}/run")
    x, y = np.zeros((4, 2)), np.zeros((4, 1))
    stacks = _stacks_of(lambda: model.fit(x, y, verbose=0, callbacks=[recorder]))
    assert ("function", "") in stacks
    assert ("recording", "callback") in stacks


def test_a_batch_that_the_recorder_passes_on_is_a_wait_for_input(
    tmp_path: pytest.TempPathFactory,
) -> None:
    import tensorflow as tf

    import strategy_core as lab

    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    data = strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(2))

    def train() -> None:
        with lab.record(f"{tmp_path}/run", strategy) as recorder:
            for _ in recorder.dataset(data):
                with recorder.step():
                    pass

    assert ("input", "") in _stacks_of(train)
