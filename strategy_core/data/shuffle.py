"""An endless stream of shuffled example numbers that can start anywhere.

The order of every epoch is a permutation computed from the seed, the epoch and the place, with no
shuffle buffer: the stream is the same under every strategy and number of replicas, a run goes on
at the very example at which it stopped, and a batch of another size takes up there too.
"""

from __future__ import annotations

import tensorflow as tf

from strategy_lab.profiles.errors import SpecError

_ROUNDS = 4  # of the block cipher behind the permutation: what tf.random.experimental uses


def shuffled_indices(
    num_examples: int, global_batch_size: int, seed: int, first_example: int = 0
) -> tf.data.Dataset:
    """Batches of example numbers, int64 (global_batch_size,), without end.

    Args:
      num_examples: size of the data set; every epoch has each of its examples once.
      first_example: how many examples of the stream to leave out: the position to resume from.

    Raises SpecError where a batch would hold an example twice.
    """
    if global_batch_size > num_examples:
        raise SpecError(
            f"global_batch_size={global_batch_size} is more than the {num_examples} examples "
            "of the data set",
            field="global_batch_size",
        )
    in_batch = tf.range(global_batch_size, dtype=tf.int64)

    def indices(batch: tf.Tensor) -> tf.Tensor:
        position = first_example + batch * global_batch_size + in_batch
        epoch = position // num_examples
        key = tf.stack([tf.fill(epoch.shape, tf.constant(seed, tf.int64)), epoch, 0 * epoch], 1)
        return tf.raw_ops.RandomIndexShuffle(
            index=position % num_examples,
            seed=tf.cast(key, tf.uint32),
            max_index=tf.constant(num_examples - 1, tf.int64),
            rounds=_ROUNDS,
        )

    return tf.data.Dataset.range(tf.int64.max).map(indices)
