"""What the time of a row is spent on: its name and definition, for every surface."""

from __future__ import annotations

KINDS = {
    "program": ("Program", "From the start of the process to its end."),
    "before": ("Before training", "From the start of the process until the loop begins."),
    "start": (
        "Start of the process",
        "Until its stack is sampled: under `trace`, until TensorFlow is imported.",
    ),
    "after": ("After training", "From the end of the loop to the end of the process."),
    "loop": (
        "Loop with its first step",
        "From the first step's batch, or from where its loop begins, to its end.",
    ),
    "first": ("First step", "The first call of the step, and what the loop does before it."),
    "before-first": ("Before the first step", "What the loop does before its first step."),
    "steps": ("Steps", "All further steps, each from asking for its batch until its result."),
    "between": ("Between steps", "From the end of each step to the begin of the next."),
    "compute": ("Compute", "A replica runs its own ops; mean over the replicas."),
    "delay": ("Injected delay", "A replica sleeps because the lab was asked to delay it."),
    "wait": ("Wait", "A replica has entered a collective and waits for others."),
    "transfer": ("Transfer", "A replica's tensors move in a collective that all have entered."),
    "input": ("Waiting for a batch", "The step waits until the next batch is there."),
    "agreement": (
        "Agreeing on a batch",
        "Workers tell each other, by an all-reduce, whether one of them has a batch left.",
    ),
    "idle": ("Idle", "A replica runs nothing: Python and the runtime start the next op."),
    "launch": ("Launches", "A GPU idles until Python and the runtime launch its next kernel."),
    "op": ("Op", "Time of one type of op in one layer, with the line that made the longest."),
    "epoch-start": ("Start of an epoch", "Making an iterator over the data, or freeing the last."),
    "first-batch": (
        "First batch of an epoch",
        "The first step of an epoch waits until the restarted input pipeline has a batch.",
    ),
    "host-read": ("Reading results", "Copying a tensor to Python: numpy(), float(), bool()."),
    "validation": ("Validation", "Keras's evaluate, also as a part of fit."),
    "predict": ("Prediction", "Keras's predict."),
    "checkpoint": ("Checkpoint", "Saving or loading weights or a model."),
    "callback": ("Callback", "A Keras callback."),
    "tracing": ("Tracing", "Building the graph of a tf.function."),
    "compiling": ("Compiling", "XLA compiles a function of the step again, for other shapes."),
    "workers": (
        "Waiting for workers",
        "ClusterCoordinator.join, a fetch, or a sleep: the workers do the scheduled steps.",
    ),
    "logging": ("Logging", "Printing, logging, writing summaries."),
    "import": ("Imports", "Importing modules."),
    "function": ("Other functions", "A call of a tf.function that is not the step."),
    "own-lines": ("The program's lines", "The program's own Python, and eager ops it calls."),
    "eager": ("Ops one by one", "Eager ops of the step, started by Python one at a time."),
    "running": ("Running", "The step's function runs; what it does was not captured."),
    "recording": ("Recorder", "The lab's own recorder, such as the end of a capture window."),
    "rest": ("Rest", "Time that no source explains."),
}
"""Title and definition by kind."""
