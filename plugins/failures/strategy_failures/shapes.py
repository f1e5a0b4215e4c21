"""Errors of the values, shapes and types of tensors."""

from __future__ import annotations

from strategy_profiles.analysis.failures import Known

SHAPES = (
    Known(
        "fixed-reshape",
        r"Input to reshape is a tensor with [1-9]\d* values|"
        r"Cannot reshape a tensor with \d+ elements",
        "a tensor does not have as many values as its new shape, as when the shape contains a "
        "fixed size of the batch and a replica's batch is smaller",
        "Write -1 for the size of the batch, or read it from tf.shape(x)[0]. Call batch() "
        "with drop_remainder=True if it must be fixed.",
    ),
    Known(
        "concatenated-shapes",
        r"Dimensions? \d+ in both shapes must be equal",
        "tensors are concatenated whose shapes differ beside the axis; gather and all_gather "
        "concatenate those of all replicas",
        "Pad the tensors to one shape in all other dimensions, or choose another axis.",
    ),
    Known(
        "incompatible-shapes",
        r"Incompatible shapes: |Dimensions must be equal, but are|Matrix size-incompatible",
        "two tensors do not have the shapes that the op needs",
        "Check both shapes for the batch of one replica, which is the global batch divided by "
        "the replicas; the last batch of an epoch may be smaller.",
    ),
    Known(
        "assigned-shape",
        r"Cannot assign value to variable '.*': Shape mismatch",
        "a variable was given a value of another shape than it was made with",
        "Assign or restore only values of the variable's own shape; build the model as it was "
        "when the checkpoint was written.",
    ),
    Known(
        "mixed-types",
        r"Input '\w+' of '\w+' Op has type \w+ that does not match type|"
        r"was expected to be an? \w+ tensor but is an? \w+ tensor",
        "two tensors of different types meet in one op, as with mixed precision, where layers "
        "compute in float16 or bfloat16",
        "Convert one of them with tf.cast(x, other.dtype); in a layer, use "
        "self.compute_dtype. Convert outputs to float32 before the loss.",
    ),
    Known(
        "not-finite",
        r"Tensor had (?:NaN|-?Inf)",
        "a value became NaN or infinite",
        "Lower the learning rate, clip the gradients, and check the batch of this step: "
        "tf.debugging.enable_check_numerics() names the first op.",
    ),
    Known(
        "out-of-memory",
        r"OOM when allocating",
        "the memory of a device is full",
        "Use a smaller batch, mixed precision or more replicas; look for a tensor that grows "
        "with each step.",
    ),
)
