"""Errors of Keras: of layers, losses, optimizers and files of weights."""

from __future__ import annotations

from strategy_profiles.analysis.failures import Known

MODELS = (
    Known(
        "layer-input",
        r"is incompatible with the layer: expected",
        "the model was built for inputs of another shape",
        "Compare keras.Input, or the input that the model was built with, with the examples "
        "of the dataset.",
    ),
    Known(
        "loss-shape",
        r"Arguments `target` and `output` must have the same shape",
        "the targets do not have the shape of the model's outputs",
        "Give the last layer as many units as a target has values; use "
        "sparse_categorical_crossentropy for targets that are numbers of classes.",
    ),
    Known(
        "loss-structure",
        r"y_true and y_pred have different structures",
        "the numbers of outputs and of targets differ",
        "Give fit one target for each output, in the same tuple or dict.",
    ),
    Known(
        "unknown-variable",
        r"This optimizer can only be called for the variables it was originally built with",
        "the optimizer was built for other variables than it has to update",
        "Make a new optimizer for each model, and after layers were added or made trainable: "
        "compile() again with it.",
    ),
    Known(
        "no-gradients",
        r"No gradients provided for any variable",
        "the loss does not depend on any variable that is trained",
        "Compute the forward pass inside of the tf.GradientTape, with ops of tf; look for "
        "stop_gradient, argmax, numpy() and trainable=False.",
    ),
    Known(
        "not-compiled",
        r"You must call `compile\(\)` before|No loss to compute\. Provide a `loss` argument",
        "the model was used without compile() or without a loss",
        "Call model.compile(optimizer, loss) inside of strategy.scope() first.",
    ),
    Known(
        "schedule-set",
        r"created with a `LearningRateSchedule` object",
        "something sets the learning rate, and the optimizer follows a schedule",
        "Give the optimizer a number as learning rate, or remove the callback that sets it.",
    ),
    Known(
        "keras-tensor",
        r"A KerasTensor cannot be used as input to a TensorFlow function",
        "a function of tf was called on an input of a Keras model that is being made",
        "Use the function of keras.ops, or call it inside of a layer's call().",
    ),
    Known(
        "keras-2",
        r"Invalid value for argument `reduction`\. .*: reduction=auto|"
        r"`keras\.optimizers\.legacy` is not supported in Keras 3|"
        r"Argument\(s\) not recognized: \{'lr'",
        "the program was written for Keras 2, and Keras 3 does not have this",
        "Use reduction='sum_over_batch_size', keras.optimizers.X and learning_rate. Or "
        "install tf_keras and set TF_USE_LEGACY_KERAS=1 before TensorFlow is imported.",
    ),
    Known(
        "old-tensorflow",
        r"has no attribute 'experimental_run_v2'|"
        r"module 'tensorflow' has no attribute '(?:placeholder|Session)'",
        "the program was written for an older TensorFlow, which had this under another name",
        "Write strategy.run instead of experimental_run_v2; what TensorFlow 1 had is in "
        "tf.compat.v1, and must become a tf.function.",
    ),
    Known(
        "not-built",
        r"You are saving a model that has not yet been built",
        "the weights of a model were saved before it had any",
        "Call model.build(input_shape), or the model on a batch, first.",
    ),
    Known(
        "saved-name",
        r"The filename must end in `\.weights\.h5`|The filepath provided must end in `|"
        r"Invalid filepath extension for saving",
        "the name of the file does not have the suffix that Keras 3 needs",
        "End the name in .keras for a model and in .weights.h5 for weights; "
        "model.export(folder) writes a SavedModel.",
    ),
    Known(
        "other-weights",
        r"A total of \d+ objects could not be loaded",
        "the file has the weights of a model with other layers or shapes",
        "Build the model as it was when the file was written; load_weights(..., "
        "skip_mismatch=True) leaves out what differs.",
    ),
    Known(
        "no-checkpoint",
        r"Unsuccessful TensorSliceReader constructor|Error when restoring from checkpoint",
        "there is no checkpoint of that name, at least not on this machine",
        "Ask tf.train.latest_checkpoint(folder) for the name. All workers must read and write "
        "the same folder of a shared disk, or write checkpoints of their own.",
    ),
)
