"""What to write instead of an op that a TPU does not compile, by kind of op."""

from __future__ import annotations

from typing import NamedTuple


class Advice(NamedTuple):
    reason: str | None
    """A more specific reason than `XLA has no kernel for it`, or None."""
    advice: str


_PYTHON = Advice(
    "it calls Python",
    "Write it with TensorFlow ops, or move it to the input pipeline: a TPU on another machine "
    "cannot call this program's Python",
)
_ITERATOR = Advice(
    "it reads the next batch inside the replicas' function",
    "Call next(iterator) before strategy.run and pass the batch as an argument",
)
_TABLE = Advice(
    "a hash table lives in the host's memory",
    "Look keys up in the input pipeline (Dataset.map)",
)
_TEXT = Advice(
    "XLA has no strings",
    "Turn strings into numbers in the input pipeline, and do not return them from a step",
)
_SUMMARY = Advice(
    "it writes for the host",
    "Do it rarely (tf.summary.record_if), or return the value from the step and write it "
    "outside strategy.run",
)
_DECODE = Advice(None, "Decode in the input pipeline (Dataset.map)")
_SPARSE = Advice(None, "Make it dense (tf.sparse.to_dense), or gather and sum the rows instead")
_RANDOM = Advice(
    None,
    "Generate the numbers in the input pipeline, or with tf.random.uniform, normal or stateless_*",
)
_ANY = Advice(None, "Do this part in the input pipeline or outside of strategy.run")

_BY_PART = (
    (("PyFunc",), _PYTHON),
    (("Iterator", "Dataset", "Optional"), _ITERATOR),
    (("HashTable", "LookupTable"), _TABLE),
    (("Summary", "Print"), _SUMMARY),
    (("String", "Regex", "AsString", "Substr"), _TEXT),
    (("Decode", "Encode"), _DECODE),
    (("Sparse",), _SPARSE),
    (("Random", "Multinomial"), _RANDOM),
)

NEEDS_SIZE = Advice(
    "a shape depends on values that are only known during the step",
    "Use a size that is known when the function is traced, and mask the surplus; shapes of "
    "arguments (tf.shape) are known",
)
NEEDS_LOOP_BOUND = Advice(
    "the values that the loop collects, or keeps for its gradient, have no fixed number",
    "Give the loop a bound: tf.while_loop(..., maximum_iterations=n), or `for _ in tf.range(n)` "
    "with n a Python number",
)
BOUNDED = Advice(
    "the size of its result depends on the data, so XLA pads it to the largest possible size",
    "Use a mask (tf.where with three arguments) if that costs too much",
)
FLOAT64 = Advice(
    "a TPU has no float64 unit; XLA emulates each operation with several float32 operations",
    "Cast to float32",
)
UNKNOWN = Advice(None, "See https://www.tensorflow.org/xla/known_issues")


def for_host(op_type: str, is_text: bool) -> Advice:
    """Advice for an op that XLA has no kernel for."""
    for parts, advice in _BY_PART:
        if any(part in op_type for part in parts):
            return advice
    return _TEXT if is_text else _ANY
