"""Errors of `tf.function`: of variables, tensors and Python inside of graphs."""

from __future__ import annotations

from strategy_profiles.analysis.failures import Known

GRAPHS = (
    Known(
        "variable-in-step",
        r"tf\.function only supports singleton tf\.Variables",
        "the step makes variables each time it is traced",
        "Make them once, before the first step and inside strategy.scope(): model.build(), "
        "then optimizer.build(model.trainable_variables).",
    ),
    Known(
        "python-condition",
        r"[Uu]sing a symbolic `tf\.Tensor` as a Python `bool` is not allowed|"
        r"Iterating over a symbolic `tf\.Tensor` is not allowed",
        "Python's `if`, `while` or `for` depends on a tensor, whose value is known only when "
        "the graph runs",
        "Write tf.cond, tf.where or tf.while_loop, or put the code into a function that "
        "AutoGraph converts: what Keras calls is not converted.",
    ),
    Known(
        "numpy-in-graph",
        r"'SymbolicTensor' object has no attribute 'numpy'|not 'SymbolicTensor'|"
        r"Cannot convert a symbolic tf\.Tensor .* to a numpy array",
        "the step needs the value of a tensor in Python, and a graph has none while it is traced",
        "Use the functions of tf instead of NumPy's, and print values with tf.print. Call "
        "numpy() and float() on what the step returned.",
    ),
    Known(
        "tensor-left-its-graph",
        r"is out of scope and cannot be used here|"
        r"cannot be accessed from here, because it was defined in",
        "a tensor of one graph was kept, and used outside of it",
        "Return the tensor from the step, or store its value in a tf.Variable; a list or an "
        "attribute keeps only its name.",
    ),
    Known(
        "no-tensor-returned",
        r"Could not build a TypeSpec for .* of unsupported type",
        "a graph got or returned an object that is no tensor",
        "Return tensors, or tuples and dicts of tensors, from the function that strategy.run "
        "or tf.function is given.",
    ),
    Known(
        "xla-op",
        r"Detected unsupported operations when trying to compile graph",
        "XLA cannot compile an op of the step",
        "Move it out of the step, or pass jit_compile=False to tf.function or to compile().",
    ),
    Known(
        "channels-first",
        r"only supports? (?:the )?NHWC",
        "the op cannot compute on CPUs with the channels first",
        "Use data_format='NHWC' in ops of tf and 'channels_last' in layers of Keras; "
        "keras.config.set_image_data_format('channels_last') sets it for all layers.",
    ),
    Known(
        "tape-used-twice",
        r"A non-persistent GradientTape can only be used to compute one set of gradients",
        "one tf.GradientTape was asked for gradients twice",
        "Ask once, with all variables in one list, or make it with persistent=True.",
    ),
)
