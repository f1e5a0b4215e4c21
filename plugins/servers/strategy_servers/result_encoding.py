"""Encodes a closure's result as the shape of an empty tensor, to save messages.

TensorFlow's reply to the coordinator contains the shape of each result, but no values: fetching
those takes further messages, before the worker gets its next closure. So integers are sent as the
axis lengths of an empty tensor. Nothing remains to be fetched, or to be lost with its worker.

Things that don't work as well:

- Reading each result with `fetch` makes steps of 5 ms 1.15 to 1.3 times as long.
- A queue on the worker, read from time to time, is slightly faster still, but its results are lost
  with the worker.
- A queue on a server takes a message for every step.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import tensorflow as tf

MAX_NUMBERS = 253
"""TensorFlow's tensors have at most 254 axes; one of them has length 0."""


class Carried(tf.experimental.ExtensionType):
    """Integers in transit; the result of `carry`."""

    empty: tf.Tensor


def carry(numbers: tf.Tensor) -> Carried:
    """Encode `numbers`, (n,) int64, n at most `MAX_NUMBERS`, none negative, as a closure's
    result."""
    lengths = tf.concat([tf.zeros([1], tf.int64), numbers], axis=0)
    return Carried(empty=tf.fill(lengths, tf.zeros([], tf.uint8)))


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of `RemoteValue.fetch` for a closure that returned `carry`."""

    arrived_ns: int
    """Wall clock of this process when the reply arrived."""
    empty: tf.Tensor = field(repr=False)

    @property
    def numbers(self) -> list[int]:
        shape: Sequence[int] = self.empty.shape.as_list()
        return list(shape[1:])

    @property
    def device(self) -> str:
        """The device that ran the closure."""
        return str(self.empty.device)


@tf.experimental.dispatch_for_api(tf.identity, {"input": Carried})
def _as_it_is(input: Carried, name: str | None = None) -> Answer:  # noqa: ARG001
    """Replaces the `tf.identity` by which TensorFlow copies a result; this one needs no copy."""
    return Answer(time.time_ns(), input.empty)
