"""Every way in which a Keras `fit` ends, as `lab.RecorderCallback` records it."""

from __future__ import annotations

import contextlib
import inspect
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import strategy_profiles
from strategy_profiles.errors import LabError
from tests.event_records import read_records
from tests.timeouts import MAX_WAIT_S

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]

BATCH, NUM_BATCHES = 4, 3


def _model() -> Any:
    import keras

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def _fit(model: Any, *callbacks: Any, **options: Any) -> None:
    inputs = np.ones((BATCH * NUM_BATCHES, 2), "float32")
    model.fit(inputs, inputs[:, 0], batch_size=BATCH, verbose=0, callbacks=[*callbacks], **options)


def _recorder(run: Path) -> Any:
    import strategy_core as lab

    return lab.RecorderCallback(run)


def _calling(**methods: Callable[..., Any]) -> Any:
    """A callback of Keras with these methods."""
    import keras

    return type("Calling", (keras.callbacks.Callback,), methods)()


def _raising(error: BaseException) -> Callable[..., Any]:
    def method(_callback: Any, batch: int = 0, logs: Any = None) -> None:  # noqa: ARG001
        if batch == 1:
            raise error

    return method


def _events(run: Path, kind: str) -> list[dict[str, Any]]:
    records = read_records(run / "worker-0-0/events.jsonl")
    return [event for event in records if event["kind"] == kind]


def _steps(run: Path) -> list[int]:
    return [event["step"] for event in _events(run, "step")]


def test_fit_waits_for_each_batch_with_the_recorder_and_without(tmp_path: Path) -> None:
    """Keras 3 on TensorFlow reads the logs of every batch, whatever callbacks there are. Once it
    reads them later, the recorder must not keep it from that: see `async_safe`."""
    is_async: list[bool] = []

    def batch_ended(callback: Any, _batch: int, logs: Any = None) -> None:  # noqa: ARG001
        callers = (each.frame.f_locals.get("self") for each in inspect.stack())
        is_async.append(
            next(each for each in callers if hasattr(each, "_async_train"))._async_train
        )

    _fit(_model(), _calling(on_train_batch_begin=batch_ended))
    _fit(_model(), _recorder(tmp_path / "run"), _calling(on_train_batch_begin=batch_ended))
    assert is_async == [False] * 2 * NUM_BATCHES


@pytest.mark.long(keep=2)
@pytest.mark.parametrize("when", ["on_train_batch_begin", "on_train_batch_end", "on_epoch_end"])
@pytest.mark.parametrize("is_last", [True, False])
def test_an_error_of_another_callback_is_the_runs_failure(
    tmp_path: Path, when: str, is_last: bool
) -> None:
    run = tmp_path / "run"
    other = _calling(**{when: _raising(ValueError("the disk of the other is full"))})
    callbacks = [_recorder(run), other] if is_last else [other, _recorder(run)]
    with pytest.raises(ValueError, match="the other is full"):
        _fit(_model(), *callbacks, epochs=2)
    (failed,) = _events(run, "failed")
    assert failed["message"] == "ValueError: the disk of the other is full"
    assert strategy_profiles.load(run).status.state == "failed"


def test_an_error_of_the_step_is_the_runs_failure_and_the_step_is_not_recorded(
    tmp_path: Path,
) -> None:
    import tensorflow as tf

    def batches() -> Any:
        for number in range(NUM_BATCHES):
            if number == 2:
                raise ValueError("file 7 is damaged")
            yield np.ones((BATCH, 2), "float32"), np.ones(BATCH, "float32")

    signature = (tf.TensorSpec((BATCH, 2)), tf.TensorSpec((BATCH,)))
    data = tf.data.Dataset.from_generator(batches, output_signature=signature)
    run = tmp_path / "run"
    with pytest.raises(tf.errors.OpError, match="file 7 is damaged"):
        _model().fit(data, verbose=0, callbacks=[_recorder(run)])
    assert "file 7 is damaged" in _events(run, "failed")[0]["message"]
    assert _steps(run) == [0, 1]


def test_an_error_of_the_evaluation_is_the_runs_failure(tmp_path: Path) -> None:
    run = tmp_path / "run"
    wrong = np.ones((4, 3), "float32"), np.ones(4, "float32")
    with pytest.raises(ValueError, match=r"incompatible|expected"):
        _fit(_model(), _recorder(run), validation_data=wrong)
    assert _events(run, "failed")[0]["message"].startswith("ValueError: ")


def test_the_ends_of_epochs_are_recorded_with_their_validation(tmp_path: Path) -> None:
    inputs = np.ones((BATCH, 2), "float32")
    for options in ({}, {"validation_data": (inputs, inputs[:, 0]), "validation_freq": 2}):
        run = tmp_path / f"run-{len(options)}"
        _fit(_model(), _recorder(run), epochs=3, **options)
        ends = _events(run, "epoch")
        assert [end["step"] for end in ends] == [2, 5, 8]
        is_validated = [end["validation_ms"] is not None for end in ends]
        assert is_validated == [False, bool(options), False]
        assert all((end["validation_ms"] or 0) < end["wall_ms"] for end in ends)
        assert {end["callbacks_ms"] for end in ends} == {None}
        plain, validated = ["callbacks", "next_epoch"], ["validation"] * bool(options)
        doing = [*plain, *validated, *plain, "callbacks"]
        assert [event["doing"] for event in _events(run, "epoch_ending")] == doing


def test_the_end_of_data_of_unknown_length_is_neither_a_failure_nor_a_step(tmp_path: Path) -> None:
    import tensorflow as tf

    one = np.ones((BATCH * NUM_BATCHES, 2), "float32")
    data = tf.data.Dataset.from_tensor_slices((one, one[:, 0])).batch(BATCH)
    data = data.filter(lambda *_: True)  # how many batches are left is unknown
    run = tmp_path / "run"
    _model().fit(data, epochs=2, verbose=0, callbacks=[_recorder(run)])
    assert _steps(run) == list(range(2 * NUM_BATCHES))
    assert strategy_profiles.load(run).status.state == "finished"


def test_each_fit_is_a_run_of_its_own(tmp_path: Path) -> None:
    run = tmp_path / "run"
    recorder, model = _recorder(run), _model()
    other = _calling(on_train_batch_end=_raising(ValueError("once")))
    _fit(model, recorder)
    with pytest.raises(ValueError, match="once"):
        _fit(model, recorder, other)
    _fit(_model(), recorder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "run-2", "run-3"]
    states = [
        strategy_profiles.load(tmp_path / name).status.state for name in ("run", "run-2", "run-3")
    ]
    assert states == ["finished", "failed", "finished"]
    assert [len(_steps(tmp_path / name)) for name in ("run", "run-3")] == [NUM_BATCHES] * 2


def test_a_folder_that_holds_a_run_costs_the_record_and_not_the_training(tmp_path: Path) -> None:
    run = tmp_path / "run"
    _fit(_model(), _recorder(run))
    recorder, model = _recorder(run), _model()
    with pytest.warns(UserWarning, match="not recorded.*run holds another run already"):
        _fit(model, recorder)
    assert int(model.optimizer.iterations) == NUM_BATCHES
    assert len(_steps(run)) == NUM_BATCHES
    (run / "run.json").rename(tmp_path / "run.json")
    (run / "worker-0-0").rename(tmp_path / "away")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _fit(model, recorder)  # the refused one does not count
    assert not (tmp_path / "run-2").exists()
    assert len(_steps(run)) == NUM_BATCHES


def test_the_model_is_left_as_it_was(tmp_path: Path) -> None:
    model = _model()
    _fit(model)
    before, hook = model.train_function, sys.excepthook
    other = _calling(on_train_batch_end=_raising(ValueError("once")))
    for number, more in enumerate([(), (other,)]):
        with contextlib.suppress(ValueError):
            _fit(model, _recorder(tmp_path / str(number)), *more)
        assert model.train_function is before
        assert "evaluate" not in vars(model)
        assert sys.excepthook is hook


CTRL_C = """
import signal, sys, time
import keras, numpy as np
import strategy_core as lab

class Interrupting(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 1:
            signal.raise_signal(signal.SIGINT)

model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
data = np.ones((12, 2), "float32")
recorder = lab.RecorderCallback(sys.argv[1])
model.fit(data, data[:, 0], batch_size=4, verbose=0, callbacks=[recorder, Interrupting()])
"""


def test_ctrl_c_stops_the_run_and_ends_the_process_as_without_the_recorder(tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = [sys.executable, "-c", CTRL_C, str(run)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=MAX_WAIT_S, check=False)
    assert ended.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in ended.stderr
    assert strategy_profiles.load(run).status.state == "stopped"


def test_an_error_between_the_calls_of_fit_is_found_when_nothing_catches_it(
    tmp_path: Path,
) -> None:
    program = (
        "import sys, keras, numpy as np\nimport strategy_core as lab\n"
        "model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])\n"
        "model.compile('sgd', 'mse')\n"
        "class Odd(type(model)):\n"
        "    def reset_metrics(self):\n"
        "        raise ValueError('between the calls')\n"
        "model.__class__ = Odd\n"
        "data = np.ones((12, 2), 'float32')\n"
        "model.fit(data, data[:, 0], callbacks=[lab.RecorderCallback(sys.argv[1])])\n"
    )
    run = tmp_path / "run"
    command = [sys.executable, "-c", program, str(run)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=MAX_WAIT_S, check=False)
    assert ended.returncode == 1
    assert ended.stderr.rstrip().endswith("ValueError: between the calls")
    assert _events(run, "failed")[0]["message"] == "ValueError: between the calls"


def test_an_error_that_the_program_caught_unseen_ends_the_run_with_the_next_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import keras

    recorder, model = _recorder(tmp_path / "run"), _model()
    with monkeypatch.context() as patch:
        patch.setattr(keras.Model, "reset_metrics", _raising_at_once)
        with pytest.raises(ValueError, match="between"):
            _fit(model, recorder)
    _fit(model, recorder)
    assert "which the program caught" in _events(tmp_path / "run", "failed")[0]["message"]
    assert strategy_profiles.load(tmp_path / "run-2").status.state == "finished"


def _raising_at_once(_model: Any) -> None:
    raise ValueError("between the calls")


def test_the_callback_shows_the_newest_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profiles: list[Any] = []
    monkeypatch.setattr("IPython.display.display", profiles.append)
    recorder = _recorder(tmp_path / "run")
    with pytest.raises(LabError, match="No fit was recorded"):
        recorder.show()
    for _ in range(2):
        _fit(_model(), recorder)
    recorder.show()
    assert [profile.path for profile in profiles] == [tmp_path / "run-2"]


@pytest.mark.long
def test_an_error_in_a_notebooks_cell_is_the_runs_failure(tmp_path: Path) -> None:
    """IPython catches it, so that Python's own hook is not called."""
    cells = (
        "import sys, keras, numpy as np\nimport strategy_core as lab\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "first = '''\n"
        "model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])\n"
        'model.compile("sgd", "mse")\n'
        'def reset_metrics(): raise ValueError("between the calls")\n'
        'recorder, data = lab.RecorderCallback(sys.argv[1]), np.ones((12, 2), "float32")\n'
        "model.fit(data, data[:, 0], verbose=0, callbacks=[recorder])\n"
        "model.reset_metrics = reset_metrics\n"
        "model.fit(data, data[:, 0], verbose=0, callbacks=[recorder])\n"
        "'''\n"
        "shell.user_ns.update(globals())\n"
        "shell.run_cell(first)\n"
        "shell.run_cell('raise KeyError(\"of another cell\")')\n"
    )
    run = tmp_path / "run"
    command = [sys.executable, "-c", cells, str(run)]
    subprocess.run(command, capture_output=True, timeout=MAX_WAIT_S, check=True)
    assert strategy_profiles.load(run).status.state == "finished"
    (failed,) = _events(tmp_path / "run-2", "failed")
    assert failed["message"] == "ValueError: between the calls"
