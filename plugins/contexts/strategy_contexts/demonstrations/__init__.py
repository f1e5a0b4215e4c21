"""The course: one short, runnable program per concept.

`COURSE` is their order: first the one that shows most of what contexts are for, then step by step.
"""

from __future__ import annotations

COURSE = (
    "merge_call",
    "default_strategy",
    "scope_and_mirrored_variables",
    "run_arguments",
    "run_return_values",
    "all_reduce_and_gradients",
    "all_gather_and_gradients",
    "reduce_and_partial_batches",
    "gather",
    "reduce_to",
    "batch_reduce_to",
    "update",
    "standard_update_pattern",
    "sync_on_read_variables",
    "assign_in_each_context",
    "variable_placement",
    "checkpoint_sync_on_read",
    "distributed_datasets",
    "input_options",
    "distributed_values",
    "tracing_and_steps",
    "keras_fit",
    "wrong_context",
    "nested_scopes_and_mixing",
    "unequal_merge_calls",
    "legacy_calls",
)
