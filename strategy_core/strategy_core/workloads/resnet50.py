"""Keras' ResNet50, untrained, on handwritten digits enlarged to photographs: real size and shape.

23.5 million parameters in 161 trainable tensors, with BatchNormalization throughout.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from strategy_core.data.shuffle import shuffled_indices
from strategy_core.workloads._digits import load_digits


def build_model(*, image_size: int = 64) -> Any:
    """(n, image_size, image_size, 3) pixels from 0 to 1 -> (n, 10) logits."""
    shape = (image_size, image_size, 3)
    return keras.applications.ResNet50(
        weights=None, input_shape=shape, classes=10, classifier_activation=None
    )


def build_dataset(
    global_batch_size: int, seed: int, *, first_example: int = 0, image_size: int = 64
) -> tf.data.Dataset:
    """An endless stream of (image, digit) batches, reshuffled in every epoch."""
    images, numbers = load_digits()
    small = tf.constant(images[..., None])
    labels = tf.constant(numbers)

    def enlarged(index: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        images = tf.image.resize(tf.gather(small, index), (image_size, image_size))
        return tf.image.grayscale_to_rgb(images), tf.gather(labels, index)

    indices = shuffled_indices(len(numbers), global_batch_size, seed, first_example)
    return indices.map(enlarged, num_parallel_calls=tf.data.AUTOTUNE)


def build_optimizer(*, learning_rate: float = 0.001) -> Any:
    return keras.optimizers.SGD(learning_rate, momentum=0.9)


def loss_fn(labels: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
    """Cross-entropy of each example, shape (n,)."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)
