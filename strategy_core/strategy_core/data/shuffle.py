"""An endless stream of shuffled example indices that can start at any position.

The order of every epoch is a permutation computed from the seed, the epoch and the position,
without a shuffle buffer. So the stream is the same for every strategy and number of replicas, and a
run resumes at the exact example at which it stopped, also with another batch size.
"""

from __future__ import annotations

import tensorflow as tf

from strategy_profiles.errors import SpecError

# Of the block cipher behind the permutation; tf.random.experimental uses the same number.
_ROUNDS = 4


def shuffled_indices(
    num_examples: int, global_batch_size: int, seed: int, first_example: int = 0
) -> tf.data.Dataset:
    """Endless batches of example indices, int64 of shape (global_batch_size,).

    Args:
      num_examples: size of the data set; every epoch has each example once.
      first_example: number of examples of the stream to skip, to resume at that position.

    Raises SpecError if a batch would contain an example twice.
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
