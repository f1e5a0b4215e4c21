"""Explains errors that a batch or a workload's own code causes while steps run.

TensorFlow reports them from inside a graph, in terms of its ops.
"""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf

from strategy_core import data
from strategy_core.planning import workload_catalog
from strategy_core.private_tf import error_texts
from strategy_core.runtime.user_errors import message_with_line
from strategy_core.training.train_step import NO_GRADIENT
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec

FINITE = "every number of a batch is finite"
"""Text of the check of every batch, by which its error is recognised here."""
_BROKEN = (
    tf.errors.InvalidArgumentError,
    tf.errors.UnimplementedError,
    tf.errors.NotFoundError,
    tf.errors.UnknownError,
    TypeError,
    ValueError,
)
"""Errors of a step that are not caused by a lost peer: from ops, from Python code in a data set,
and from layers that are retraced because a batch has another shape."""


def explanation(spec: RunSpec, step: int, error: Exception) -> SpecError | None:
    """Explain an error caused by the user's data or file; None for other errors.

    May itself raise a SpecError that names a file.
    """
    name = Path(spec.workload).name
    is_own = spec.workload.endswith(".py")
    if isinstance(error, ValueError) and str(error).startswith(error_texts.NO_GRADIENTS):  # in fit
        return SpecError(NO_GRADIENT, field="workload")
    if isinstance(error, tf.errors.InvalidArgumentError) and FINITE in str(error):
        return SpecError(
            f"build_dataset of {name} yields NaN or infinity in the batch of step {step}",
            field="data",
        )
    explained = wrong_number(error, f"the batch of step {step}", name)
    if explained is not None:
        return explained
    if not _is_broken(error):
        return None
    if spec.data is not None:
        data.check_all(spec.data)
    if not is_own:
        return None
    raised = message_with_line(workload_catalog.find(spec.workload), error)
    return SpecError(f"Step {step} of {name} raised {raised}", field="workload")


def _is_broken(error: Exception) -> bool:
    """Whether an op of the step or Python in a data set raised the error, and not a lost peer."""
    if not isinstance(error, _BROKEN):
        return False
    # Beside the error of one replica's data, another replica's collective may have been cancelled.
    first, *roots = error_texts.ROOT_ERROR.split(str(error))
    own = [text for text in roots or [first] if not error_texts.ABOUT_PEERS.search(text)]
    if isinstance(error, tf.errors.UnknownError):
        return any(error_texts.PYTHON_TRACEBACK in text for text in own)
    return bool(own)


def wrong_number(error: BaseException | None, where: str, workload: str) -> SpecError | None:
    """Explain a class or an index out of the model's range; None for any other error."""
    if not isinstance(error, tf.errors.InvalidArgumentError):
        return None
    label = error_texts.LABEL_OUT_OF_RANGE.search(str(error))
    index = error_texts.INDEX_OUT_OF_RANGE.search(str(error))
    if label is not None:
        return SpecError(
            f"Label {label[1]} in {where} of {workload} is outside 0 to {int(label[2]) - 1}, "
            f"the classes of a model with {label[2]} outputs",
            advice="Number the classes from 0, give the model an output for each, or make labels "
            "that are values floats",
            field="data",
        )
    if index is not None:
        return SpecError(
            f"Index {index[1]} in {where} of {workload} is outside 0 to {int(index[2]) - 1}, "
            f"the {index[2]} rows of its table (Embedding, gather)",
            advice="Give the table more rows, or the data smaller numbers",
            field="data",
        )
    return None
