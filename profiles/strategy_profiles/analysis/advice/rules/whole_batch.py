"""Each replica trains on the whole batch.

## What it does

Says so if the recorder saw that a step's batch is not divided among the replicas of the process:
at Keras's `train_on_batch`, or at `strategy.run` with tensors that are not of a distributed
dataset. Or if `tf.nn.compute_average_loss` gets, as the global batch, the number of a replica's own
examples: a function for `distribute_datasets_from_function` that makes batches of the global size.
Or if that function makes batches of a size whose name has the word "global", and the program never
asks for `get_per_replica_batch_size`. The cost is the part of the steps that a divided batch saves.

## Why is this slow

All replicas compute the same, so more replicas make nothing faster.

## What to do

Call `fit`, or take the batches from `strategy.experimental_distribute_dataset`, which divides them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from strategy_profiles.analysis.facts import Facts, Finding, finding, over_all_steps
from strategy_profiles.run.event_parts import (
    FROM_FUNCTION,
    FROM_VALUES,
    PER_REPLICA_SIZE,
    SourceLine,
)
from strategy_profiles.run.events import OWN_BATCH_EACH, WHOLE_BATCH_EACH

KEY = "whole-batch"
ROWS = ("loop/steps",)
NO_GAIN = "Replicas with a part of the batch are not in the recorded steps."


_OWN_BATCHES = (
    "Make batches of context.get_per_replica_batch_size(global_batch) in the function given to "
    "distribute_datasets_from_function, or of the global batch for "
    "experimental_distribute_dataset(), which divides it."
)
_OWN_ROWS = (
    "Return the rows of its replica in the function that is given to it, such as "
    "rows[context.replica_id_in_sync_group::context.num_replicas_in_sync], or"
)
_GLOBAL = re.compile(r"\.batch\(\s*(?:batch_size\s*=\s*)?[\w.]*global[\w.]*\s*[,)]", re.IGNORECASE)


def _global_batch_of_each(facts: Facts) -> SourceLine | None:
    """The line that makes batches of what is called the global size, each for one replica."""
    if not facts.lines_with(FROM_FUNCTION) or facts.lines_with(PER_REPLICA_SIZE):
        return None
    batch = facts.only_line(".batch(")
    return batch if batch is not None and _GLOBAL.search(batch.text) else None


def find(facts: Facts) -> Iterator[Finding]:
    """By what the recorder noted, or by the text of the program."""
    whole, own = (facts.noted.get(field) for field in (WHOLE_BATCH_EACH, OWN_BATCH_EACH))
    num_replicas, steps = facts.segment.num_replicas, facts.account.row("loop/steps")
    by_name = _global_batch_of_each(facts)
    values = facts.only_line(FROM_VALUES)
    if not whole and values is not None and facts.gives_all_the_same(values):
        whole = values.place
    if num_replicas < 2 or steps is None or not (whole or own or by_name):
        return
    num_here = num_replicas // max(1, facts.segment.num_workers)
    running = facts.account.row("loop/first/running")
    place = (running.place if running else None) or whole  # where the step has its batch
    cost = over_all_steps(facts, steps.total_ms * (1 - 1 / num_here), "derived")
    if whole:
        at = f"{values.place} (`{values.text.strip()}`)" if values else place
        yield finding(
            facts,
            KEY,
            f"Each of {num_here} replicas trains on the whole batch: it is not divided at {at}.",
            f"{_OWN_ROWS if values else 'Call fit(), or'} take the batches from "
            "strategy.experimental_distribute_dataset(), which divides them.",
            cost,
            place=values.place if values else place,
        )
        return
    if by_name is not None and not own:
        yield finding(
            facts,
            KEY,
            f"Each of {num_here} replicas takes a batch of its own, of the size that the program "
            f"calls global: distribute_datasets_from_function() does not divide what its function "
            f"makes at {by_name.place} (`{by_name.text.strip()}`).",
            _OWN_BATCHES,
            cost,
            place=by_name.place,
        )
        return
    batch = facts.only_line(".batch(")
    made = f" The batch is made at {batch.place} (`{batch.text.strip()}`)." if batch else ""
    yield finding(
        facts,
        KEY,
        f"Each of {num_here} replicas trains on a whole global batch of its own: its losses are "
        f"divided by their number at {own}, as if no other replica had any.{made}",
        f"{_OWN_BATCHES} If each replica is to have so many examples, divide by the number of all "
        "of them.",
        cost,
        place=batch.place if batch else own,
    )
