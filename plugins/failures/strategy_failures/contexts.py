"""Errors of the contexts of `tf.distribute`: what is called where, by which strategy."""

from __future__ import annotations

from strategy_profiles.analysis.failures import Known

CONTEXTS = (
    Known(
        "gradient-accumulation",
        r"Cond\.call\(\).*`merge_call` called while defining .*_backend_apply_gradients",
        "gradient_accumulation_steps puts the update of the weights into a condition, and "
        "replicas cannot synchronise in one",
        "Make the optimizer without gradient_accumulation_steps. Use more replicas or a "
        "smaller model if the batch is to be larger.",
    ),
    Known(
        "merge-call-in-cond",
        r"`merge_call` called while defining a new graph(?!.*_backend_apply_gradients)",
        "the replica function synchronises the replicas inside of another graph, such as a "
        "tf.cond, a tf.while_loop or a tf.function of its own",
        "Call what synchronises (all_reduce, apply_gradients, a metric's update) outside of "
        "conditions and inner functions, or move the condition around strategy.run.",
    ),
    Known(
        "unequal-merge-calls",
        r"different number of replica_context\(\)\.merge_call\(\) calls",
        "not all replicas synchronised equally often: some left out an all_reduce, an "
        "apply_gradients or a merge_call",
        "Let every replica make the same calls: no such call under a Python condition that "
        "depends on the replica or its data.",
    ),
    Known(
        "cross-replica-call",
        r"requires being in cross-replica context",
        "a method for all replicas was called inside the function of one replica",
        "Call it outside of strategy.run, or through "
        "tf.distribute.get_replica_context().merge_call().",
    ),
    Known(
        "replica-call",
        r"must be called in a replica context|"
        r"'NoneType' object has no attribute '(?:merge_call|all_reduce|all_gather|replica_id)",
        "a method of one replica was called outside of strategy.run",
        "Call it inside the function that strategy.run is given.",
    ),
    Known(
        "tape-outside-of-replica",
        r"DistributedVariable\.handle is not available outside the replica context",
        "a gradient was computed, or a variable used, for all replicas at once",
        "Move forward pass, tf.GradientTape and gradient into the function that strategy.run "
        "is given.",
    ),
    Known(
        "next-in-replica",
        r"next\(iterator\) should be called from outside of replica_fn",
        "a replica took its batch from the distributed iterator by itself",
        "Take the batch first, and hand it over: strategy.run(step, args=(next(iterator),)).",
    ),
    Known(
        "other-scope",
        r"Mixing different tf\.distribute\.Strategy objects: .*_DefaultDistributionStrategy|"
        r"only be passed a variable created in this tf\.distribute\.Strategy\.scope|"
        r"in (?:_update|_distributed_tf_update_step)\n[^\n]*\n(?:[^\n]*\n)?AssertionError\s*\Z",
        "a variable, a model or an optimizer was made outside of the strategy's scope",
        "Make model, optimizer and metrics inside one `with strategy.scope():`, and load them "
        "there.",
        is_of_traceback=True,
    ),
    Known(
        "other-strategy",
        r"Mixing different tf\.distribute\.Strategy objects: (?!.*_DefaultDistributionStrategy)",
        "two strategies met: the scope, a variable or a dataset of one was used under the other",
        "Make one strategy per program and use it for the scope, the datasets and run; leave "
        "its scope before you enter another one's.",
    ),
    Known(
        "no-aggregation",
        r"You must specify an aggregation method to update an? \w+",
        "each replica assigns to a variable that does not know how to combine their values",
        "Make it with tf.Variable(..., aggregation=tf.VariableAggregation.MEAN), SUM or "
        "ONLY_FIRST_REPLICA.",
    ),
    Known(
        "mean-of-integers",
        r"aggregation=MEAN and a non-floating dtype",
        "a variable of integers was to become the mean of the replicas' values",
        "Give it a floating dtype, or the aggregation SUM or ONLY_FIRST_REPLICA.",
    ),
    Known(
        "on-read-assigned",
        r"SyncOnReadVariable does not support `assign_\w+` in cross-replica context",
        "a variable that is summed over replicas when it is read was added to outside of them",
        "Add to it inside the function that strategy.run is given; outside of it, use assign().",
    ),
    Known(
        "per-replica-value",
        r"not 'PerReplica'|'PerReplica' object has no attribute|format string passed to PerReplica|"
        r"unsupported operand type\(s\) for .*'PerReplica'|"
        r"using a PerReplica object while not inside a replica context",
        "the result of strategy.run, which holds one value of each replica, was used as if it "
        "were one tensor",
        "Combine the values first with strategy.reduce('SUM', value, axis=None), or take them "
        "one by one from strategy.experimental_local_results(value).",
    ),
    Known(
        "captured-per-replica",
        r"Flattening a PerReplica to components is not supported in replica context",
        "the function of one replica uses the values of all replicas, which it took from outside",
        "Hand them over as arguments: strategy.run(step, args=(batch,)) gives each replica "
        "its own.",
    ),
    Known(
        "run-arguments",
        r"positional args must be a list or tuple",
        "strategy.run was given its arguments without a tuple",
        "Write strategy.run(step, args=(batch,)), with the comma.",
    ),
    Known(
        "reduce-op",
        r"is not a valid ReduceOp",
        "strategy.reduce was given an operation that it does not have",
        "Give reduce 'SUM' or 'MEAN'.",
    ),
    Known(
        "reduce-axis",
        r"Invalid reduction dimension -?\d+ for input with \d+ dimensions",
        "values are reduced along an axis that they do not have",
        "Give strategy.reduce axis=None for values without a batch dimension, such as a loss, "
        "and axis=0 for those with one.",
    ),
)
