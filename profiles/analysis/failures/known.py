"""The errors that are known by what causes them.

Each has a program in `tests/failures` that fails by it. Nothing but TensorFlow's text tells errors
apart, and a release may change it: an error that no entry matches is shown as TensorFlow wrote it,
with its replica, layer, line and step. The first entry that matches counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """An error and its cause."""

    key: str
    pattern: re.Pattern[str]
    """Of the type, the message and the details of the error."""
    cause: str
    """A clause that follows `because`; `{who}` is the replica, or `a replica` if it is unknown."""
    remedy: str
    """Sentences."""


def _known(key: str, pattern: str, cause: str, remedy: str) -> Known:
    return Known(key, re.compile(pattern, re.DOTALL), cause, remedy)


KNOWN = (
    _known(
        "empty-batch",
        r"slice index 0 of dimension 0 out of bounds|"
        r"(?:but the requested shape|Input to reshape is a tensor with 0 values)|"
        r"Reduction axis 0 is empty in shape \[0",
        "{who} got no example: the batch had fewer examples than there are replicas, as the last "
        "batch of an epoch may",
        "Call batch() with drop_remainder=True, or choose a batch and a number of examples that "
        "divide by the number of replicas.",
    ),
    _known(
        "variable-in-step",
        r"tf\.function only supports singleton tf\.Variables|"
        r"tf\.function-decorated function tried to create variables on non-first call",
        "the step makes variables each time it is traced",
        "Make them once, before the first step and inside strategy.scope(): model.build(), then "
        "optimizer.build(model.trainable_variables).",
    ),
    _known(
        "other-scope",
        r"was not created in the distribution strategy scope|"
        r"not created under the (?:same )?[Ss]trategy|"
        r"Trying to create optimizer slot variable under the scope",
        "a variable was made outside of the strategy's scope, or under another strategy",
        "Make model, optimizer and metrics inside one `with strategy.scope():`.",
    ),
    _known(
        "merge-call-in-cond",
        r"merge_call called while defining a new graph or a tf\.function",
        "the replica function synchronises the replicas inside of another graph, such as a "
        "tf.cond, a tf.while_loop or a tf.function of its own",
        "Call what synchronises (all_reduce, apply_gradients, a metric's update) outside of "
        "conditions and inner functions, or move the condition around strategy.run.",
    ),
    _known(
        "cross-replica-call",
        r"requires being in cross-replica context",
        "a method for all replicas was called inside the function of one replica",
        "Call it outside of strategy.run, or through "
        "tf.distribute.get_replica_context().merge_call().",
    ),
    _known(
        "replica-call",
        r"must be called in (?:the )?replica context|requires being in a? ?replica context|"
        r"'NoneType' object has no attribute '(?:merge_call|all_reduce|all_gather|replica_id)",
        "a method of one replica was called outside of strategy.run",
        "Call it inside the function that strategy.run is given.",
    ),
    _known(
        "loss-reduction",
        r"[Pp]lease use `?tf\.keras\.losses\.Reduction\.(?:SUM|NONE)|"
        r"reduction=.*(?:AUTO|SUM_OVER_BATCH_SIZE).*[Ss]trategy",
        "the loss is averaged over the batch of one replica, not over the global batch",
        "Give the loss reduction='none', and average with tf.nn.compute_average_loss(loss, "
        "global_batch_size=...).",
    ),
    _known(
        "not-finite",
        r"Tensor had (?:NaN|Inf|-Inf)|contains (?:NaN|Inf) values|: Tensor had",
        "a value became NaN or infinite",
        "Lower the learning rate, clip the gradients, and check the batch of this step: "
        "tf.debugging.enable_check_numerics() names the first op.",
    ),
    _known(
        "out-of-memory",
        r"ResourceExhaustedError|OOM when allocating|failed to allocate memory",
        "the memory of a device is full",
        "Use a smaller batch, mixed precision or more replicas; look for a tensor that grows with "
        "each step.",
    ),
    _known(
        "end-of-data",
        r"OutOfRangeError|End of sequence",
        "the data ended before the steps did",
        "Let the dataset repeat(), or count fewer steps.",
    ),
    _known(
        "labels",
        r"label value of -?\d+ which is outside the valid range",
        "a label is outside of the range of the model's classes",
        "Give the last layer as many units as there are classes, and number labels from 0.",
    ),
    _known(
        "embedding-index",
        r"indices\[[\d,]*\] = -?\d+ is not in \[0, \d+\)",
        "an index is outside of the table that it is looked up in",
        "Make the table larger (input_dim of Embedding), or check how indices are made.",
    ),
    _known(
        "lost-worker",
        r"UnavailableError|DeadlineExceededError|failed to connect to all addresses|"
        r"Connection reset by peer",
        "another process of the cluster could not be reached",
        "Look at the record of the process that ended first.",
    ),
    _known(
        "incompatible-shapes",
        r"Incompatible shapes|Dimensions must be equal|required broadcastable shapes|"
        r"Matrix size-incompatible",
        "two tensors do not have the shapes that the op needs",
        "Check the shape of a batch in this step; the last one of an epoch may be smaller.",
    ),
)
