"""`%%strategy_lab` in a real kernel: the cell runs as without it, and its steps are recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import strategy_profiles
from strategy_profiles.run.events import Failed
from tests.timeouts import MAX_WAIT_S

pytestmark = pytest.mark.run

SETUP = """
%load_ext strategy_core
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    weights = tf.Variable(tf.ones([4, 1]))
numbers = tf.data.Dataset.from_tensor_slices(tf.ones([160, 4])).batch(16)
batches = strategy.experimental_distribute_dataset(numbers)

def replica_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ weights) ** 2)
    gradient = tf.distribute.get_replica_context().all_reduce("sum", tape.gradient(loss, weights))
    weights.assign_sub(0.01 * gradient)
    return loss

@tf.function
def train_step(batch):
    return strategy.reduce("mean", strategy.run(replica_step, (batch,)), None)
"""
FIRST = """%%strategy_lab -o runs/first
for batch in batches:
    loss = train_step(batch)
float(loss) > 0"""
BETWEEN = "for batch in batches: train_step(batch)"
AGAIN = "%%strategy_lab\nfor batch in batches: train_step(batch)"
FAILING = """%%strategy_lab -o runs/failing
for number, batch in enumerate(batches):
    train_step(batch)
    if number == 6:
        raise ValueError("in step 7")"""
BROKEN = """%%strategy_lab -o runs/broken
from strategy_core.tracing.recording import Recording
whole, num_done = Recording.call_done, 0
def call_done(recording, *args):
    global num_done
    num_done += 1
    if num_done == 4:
        raise KeyError("made by the test")
    whole(recording, *args)
Recording.call_done = call_done
for batch in batches: train_step(batch)
Recording.call_done = whole
print("the cell went on")"""
AFTER_BROKEN = "%%strategy_lab -o runs/mended\nfor batch in batches: train_step(batch)"
WITHOUT_STEPS = "%%strategy_lab -o runs/empty\n1 + 1"
TAKEN = "%%strategy_lab -o runs/first\n1 + 1"
UNKNOWN_FIELD = "%%strategy_lab --set capture.nothing=1\n1 + 1"
CELLS = (
    SETUP,
    FIRST,
    BETWEEN,
    AGAIN,
    FAILING,
    BROKEN,
    AFTER_BROKEN,
    WITHOUT_STEPS,
    TAKEN,
    UNKNOWN_FIELD,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("notebook")


@pytest.fixture(scope="module")
def outputs(folder: Path) -> dict[str, list[Any]]:
    """The outputs of each cell, by its source."""
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    where = {"metadata": {"path": str(folder)}}
    NotebookClient(
        notebook, timeout=MAX_WAIT_S, kernel_name="python3", resources=where, allow_errors=True
    ).execute()
    return {cell.source: cell.outputs for cell in notebook.cells}


def text(outputs: list[Any]) -> str:
    return "".join(each.text for each in outputs if each.output_type == "stream")


def test_the_report_is_drawn_below_the_cell_after_its_own_value(
    outputs: dict[str, list[Any]], folder: Path
) -> None:
    drawn = [each.data for each in outputs[FIRST] if "data" in each]
    assert [each.get("text/plain") for each in drawn[:1]] == ["True"]
    assert drawn[1]["text/html"] == strategy_profiles.load(folder / "runs" / "first")._repr_html_()


def test_the_steps_of_the_cell_alone_are_recorded(
    outputs: dict[str, list[Any]], folder: Path
) -> None:
    assert outputs
    (segment,) = strategy_profiles.load(folder / "runs" / "first").summary()["segments"]
    assert (segment["strategy"], segment["num_replicas"]) == ("mirrored", 2)
    assert strategy_profiles.load(folder / "runs" / "first").table("steps").num_rows == 10


def test_a_function_of_an_earlier_cell_is_recorded_with_its_replicas(
    outputs: dict[str, list[Any]], folder: Path
) -> None:
    assert outputs
    again = strategy_profiles.load(folder / "runs" / "cell-1")
    assert again.table("steps").num_rows == 10
    (segment,) = again.summary()["segments"]
    assert [row["compute_ms"] > 0 for row in segment["replicas"]] == [True, True]


def notes(profile: strategy_profiles.Profile) -> list[Any]:
    summary_notes: list[Any] = profile.summary()["notes"]
    return summary_notes


def test_an_error_is_the_cells_own_and_the_runs(
    outputs: dict[str, list[Any]], folder: Path
) -> None:
    (error,) = [each for each in outputs[FAILING] if each.output_type == "error"]
    assert (error.ename, error.evalue) == ("ValueError", "in step 7")
    assert "magic.py" not in "".join(error.traceback)
    failing = strategy_profiles.load(folder / "runs" / "failing")
    assert failing.status.state == "failed"
    assert failing.table("steps").num_rows == 7
    drawn = [each.data["text/html"] for each in outputs[FAILING] if "data" in each]
    assert drawn == [failing._repr_html_()], "the steps until then, above the error"


def test_a_line_of_a_cell_is_named_by_the_cell(outputs: dict[str, list[Any]], folder: Path) -> None:
    assert outputs
    (failed,) = strategy_profiles.load(folder / "runs" / "failing").events(Failed)
    number = CELLS.index(FAILING) + 1
    assert failed.place == f"cell In[{number}], line 4"
    (error,) = [each for each in outputs[FAILING] if each.output_type == "error"]
    assert f"In[{number}]" in "".join(error.traceback)


def test_a_recorder_that_fails_ends_the_run_with_the_reason_and_not_the_cell(
    outputs: dict[str, list[Any]], folder: Path
) -> None:
    said = text(outputs[BROKEN])
    assert "the cell went on" in said
    reason = "The recording ended early by an error of the lab's own: KeyError: 'made by the test'"
    assert f"strategy-lab: {reason}" in said
    broken = strategy_profiles.load(folder / "runs" / "broken")
    assert (broken.status.state, broken.status.message) == ("failed", reason)
    assert broken.table("steps").num_rows == 3
    mended = strategy_profiles.load(folder / "runs" / "mended")
    assert (mended.status.state, mended.table("steps").num_rows) == ("finished", 10)


def test_a_cell_without_steps_says_so(outputs: dict[str, list[Any]], folder: Path) -> None:
    assert outputs
    (note,) = notes(strategy_profiles.load(folder / "runs" / "empty"))
    assert "No step was found" in note["message"]


@pytest.mark.parametrize(
    ("cell", "said"), [(TAKEN, "holds another run"), (UNKNOWN_FIELD, "capture.nothing")]
)
def test_a_refused_cell_gets_one_sentence_and_does_not_run(
    outputs: dict[str, list[Any]], cell: str, said: str
) -> None:
    assert said in text(outputs[cell])
    assert not [each for each in outputs[cell] if "data" in each or each.output_type == "error"]
