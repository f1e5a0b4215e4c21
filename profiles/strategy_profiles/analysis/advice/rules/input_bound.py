"""The step waits for its batch.

## What it does

Compares the wait for the batch with the step: more than 15 %, from the host's clock on every step,
else from captured steps. The replicas of one process take their batches from one pipeline, so the
wait is that of the replica which waits longest. Names the stage of the input pipeline that is at
work for at least half of the wait, prefetched or not, and the op that runs Python for most of that,
with the line of the program that makes it if only one can, and the line of that Python that most
samples are at. If the stage makes elements, the first batches of epochs count as well.
Without such a stage, a wait of less than 2 ms is the call of the iterator, not the input; less than
20 ms, if stages were at work for a smaller part, or those by which tf.distribute hands batches to
devices. Neither holds if a collective runs while the program asks for the batch: then workers wait
for each other there, in each step. Names the worker whose own batch is late. If threads of the
pipeline work while a step runs, and most steps wait, this comes before what else the steps do.

## Why is this slow

No replica can begin before its batch is there.

## What to do

Prepare batches ahead (`prefetch`, parallel `map`, `cache`). A Python generator is not helped by
`prefetch` if it is slower than the step. Workers that ask each other whether a batch is left stop
doing so if the dataset repeats without end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from strategy_profiles.analysis.advice.input_kinds import KINDS, InputKind
from strategy_profiles.analysis.advice.late_because import late_batch
from strategy_profiles.analysis.advice.line_advice import (
    advice_by_text,
    advice_on_python,
    most_of_python,
)
from strategy_profiles.analysis.advice.rows import how_long, large_rows
from strategy_profiles.analysis.causes import Cause
from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    per_step,
)
from strategy_profiles.analysis.input_share import INPUT_BOUND_SHARE
from strategy_profiles.analysis.input_stages import OF_DISTRIBUTE
from strategy_profiles.analysis.late_replicas import who_waits
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import OF_KERAS, PYTHON_OF_INPUT, SourceLine

KEY = "input-bound"
ROWS = ("loop/steps/input", "loop/steps/first-batch", "loop/steps/wait")
MOST_OF_WAIT, NEARLY_ALL_OF_WAIT = 0.5, 0.8
"""A stage limits if it is at work for this part of the wait for a batch; the longest of several if
all of them together are, one after the other, for nearly all of it."""
FEWEST_STEPS = 3
MANY_ELEMENTS = 500
"""Of a step, from which on the passing of single elements takes long: 2 to 3 us each."""
SHORTEST_MS = 2.0
"""To take a prefetched batch for two replicas takes 0.5 to 1.2 ms of Python on a quiet machine.
Where other programs have most of the cores, a stage waits for a core as well: one of 40 healthy
runs beside three such programs waited 0.58 ms for a stage that took 0.87 ms there. Its loop, of
0.3 s, was over before the load of the machine was sampled."""
SHORTEST_BESIDE_STAGES_MS = 20.0
"""While other programs used the cores, that took 2.3 ms to 5.5 ms, and 11 ms at a load of 7 on two
cores, with stages of tf.data at work for less than half of it, or only those of tf.distribute."""

_RUN_AHEAD = (
    "Prepare batches ahead: dataset.prefetch(tf.data.AUTOTUNE), a parallel map, or cache()."
)

_AGREES = (
    " No stage of the input takes as long: with each batch the workers agree, by an all-reduce, "
    "whether any has one left."
)
_REPEAT = (
    "Let the dataset repeat() without end, and count the steps of an epoch: then nothing has to be "
    "agreed on. Or call next() inside of the tf.function, where it costs less."
)
_IN_KERAS = (
    "__getitem__ makes one batch at a time under Python's GIL: give the PyDataset workers, and "
    "use_multiprocessing=True where it computes in Python, do less in it, or make the arrays of "
    "all batches once."
)
_TENSORFLOW_IN_KERAS = (
    "Python calls TensorFlow there, where other threads gain little and forked processes hang: "
    "compute with NumPy, or do it once for all batches before training, or as ops in the model or "
    "in a dataset's map()."
)
_OF_SINGLE = re.compile(r"\bparse_single_example\(")
_WORKS_AHEAD = re.compile(r"::(?:Prefetch|ParallelMap|ParallelInterleave|MapAndBatch)")
_MIXES, _RESAMPLES = "DirectedInterleave", re.compile(r"\brejection_resample\(")
_DIRECTORY = re.compile(r"_dataset_from_directory\(")
_POOL = re.compile(r"\bprivate_threadpool_size\s*=\s*([1-9]\d*)")
_CALLS_TENSORFLOW = re.compile(r"\b(?:tf|keras)\.\w|\.numpy\(")
_OF_EXAMPLES = (
    "The generator makes single examples, each under Python's GIL, so prefetch cannot speed it up: "
    "yield whole batches, or give the arrays to from_tensor_slices() where they fit into memory. "
    "Otherwise do less in it, or interleave several generators."
)
_CACHE = re.compile(r"::(?:Memory|File)?Cache\w*::")
_BEHIND_CACHE = (
    "cache() keeps what comes of this stage, but only the first whole pass over one dataset fills "
    "it: make the dataset once, before the loop, not for each epoch or call of fit(), and put "
    "take() before cache()."
)
_SKIP_FIRST = "skip() throws away what this stage makes: call skip() before it."
_IN_PYTHON = (
    "Python computes under the GIL, one example at a time: a parallel map speeds the function up "
    "only if it sleeps or reads. Replace py_function or numpy_function with TensorFlow ops, or do "
    "the work once and cache() it."
)


def find(facts: Facts) -> Iterator[Finding]:
    """The wait for batches, with that for the first ones of epochs if it has the same cause."""
    first = large_rows(facts, "first-batch", "loop/steps")
    for item in _waits(facts):
        if not first or item.cost is None or not _makes_elements(facts, _limiting_stage(facts)):
            yield item
            continue
        both_ms = item.cost.ms * facts.account.num_steps + first[0].total_ms
        yield replace(
            item,
            sentence=f"{item.sentence} It is at work for the first batches of epochs, too: they "
            f"take {how_long(facts, first[0])}.",
            cost=facts.account.cost(both_ms, item.cost.source, item.cost.num_steps),
        )


def is_behind_first_batches(facts: Facts) -> bool:
    """Whether the stage that makes usual steps wait makes the first steps of epochs wait longer: it
    makes the elements that shuffle() fills its buffer with."""
    return _makes_elements(facts, _limiting_stage(facts)) and any(_waits(facts))


def _makes_elements(facts: Facts, stage: Cause | None) -> bool:
    known = _input_kind(facts, stage) if stage is not None else None
    return known is not None and known.makes_elements


def _waits(facts: Facts) -> Iterator[Finding]:
    """From the host's own clock on every step; else from captured steps, where the program asks for
    its batch inside the step, where only the trace sees it."""
    stages, stage = facts.held_up.of_kind("input-stage"), _limiting_stage(facts)
    is_taken = facts.load is not None and facts.load.is_mostly_taken
    agrees = stage is None and _agrees(facts)
    if stage is None and is_taken and not agrees:
        return  # the program waits for a core: `busy-machine` says so
    may_be_taken = is_taken or (facts.load is None and not facts.is_imported)
    shortest_ms = SHORTEST_MS if may_be_taken else 0.0
    if stage is None:
        shortest_ms = SHORTEST_BESIDE_STAGES_MS if stages else SHORTEST_MS
    if agrees:
        shortest_ms = 0.0
    if facts.input.share is not None:  # on every step: what captured ones add is the stage
        is_bound = facts.input.is_input_bound and facts.input.num_steps >= FEWEST_STEPS
        if is_bound and (facts.input.waiting_ms or 0.0) >= shortest_ms:
            yield _measured_by_host(facts, stage, agrees=agrees)
        return
    wall, waited = facts.breakdown.mean_ms("wall"), _waited_ms(facts)
    if not wall or waited is None or waited / wall <= INPUT_BOUND_SHARE or waited < shortest_ms:
        return
    yield finding(
        facts,
        KEY,
        f"{of_a_step(facts, waited, wall)} is spent waiting for the batch, which the program "
        f"reads inside the step (as Keras fit does).{_reason(facts, stage)}",
        _advice(facts, stage),
        per_step(facts, waited, wall),
        mean_ms=waited,
        stage=stage.name if stage else None,
        stage_ms=stage.each_ms if stage else None,
        is_beside=_is_beside(stage),
    )


def _limiting_stage(facts: Facts) -> Cause | None:
    """The stage that a step waits for; None if none is at work for most of the wait."""
    every = facts.held_up.of_kind("input-stage")
    stages = [item for item in every if item.name not in OF_DISTRIBUTE]
    waited_ms = _waited_ms(facts)
    if waited_ms is None:
        waited_ms = facts.input.mean_ms or 0.0
    if not stages:
        return None
    is_most = stages[0].held_ms >= MOST_OF_WAIT * waited_ms
    all_ms = sum(item.held_ms for item in stages)
    return stages[0] if is_most or all_ms >= NEARLY_ALL_OF_WAIT * waited_ms else None


def line_of_input(facts: Facts) -> SourceLine | None:
    """The line of the program that makes the limiting stage, or that runs Python in it; None if
    there are several such lines, or none was recorded."""
    stage = _limiting_stage(facts)
    if stage is None:
        return None
    known = _input_kind(facts, stage)
    texts = known.texts if known is not None else ()
    if _python_of(facts, stage):
        texts = PYTHON_OF_INPUT
    elif _kind(stage) == "Generator" and facts.lines_with(*OF_KERAS):
        texts = ("def __getitem__(",)
    return facts.only_line(*texts)


def _is_beside(stage: Cause | None) -> bool:
    """Whether threads of its own make the next batch while a step runs."""
    return stage is not None and _WORKS_AHEAD.search(stage.name) is not None


def _waited_ms(facts: Facts) -> float | None:
    """How long a captured step waits for its batch; None if that is not known.

    The replicas of one process take their batches from one pipeline, and the others wait for the
    one that has its own last: the step waits as long as that one.
    """
    waits = [each.input_ms for each in facts.breakdown.replicas if each.input_ms is not None]
    if waits and facts.shares_input and facts.breakdown.is_in_sync:
        return max(waits)
    return facts.breakdown.mean_ms("input")


def _agrees(facts: Facts) -> bool:
    """Whether workers agree on each batch: it is taken from Python, outside of the graph."""
    has_workers = facts.segment.num_workers > 1 and facts.input.is_input_bound
    return has_workers and (facts.input_collectives or 0.0) >= MOST_OF_WAIT


def _measured_by_host(facts: Facts, stage: Cause | None, *, agrees: bool) -> Finding:
    """Medians beside the median step; where only some steps wait, the sum beside all steps."""
    measured = facts.input
    if (measured.median_share or 0.0) > INPUT_BOUND_SHARE:
        sentence = (
            f"The median step waits {units.milliseconds(measured.median_ms)} for its batch, "
            f"{units.share(measured.median_share)} of it."
        )
        cost = per_step(facts, measured.median_ms or 0.0, measured.median_wall_ms or 0.0)
        is_beside = _is_beside(stage)
    else:
        is_beside = False
        mean_ms = measured.mean_ms or 0.0
        sentence = (
            f"{measured.num_waiting:,} of {units.counted(measured.num_steps, 'step')} wait for "
            f"their batch, {units.seconds(mean_ms * measured.num_steps / 1000)} in all: "
            f"{units.share(measured.share)} of the time of all {measured.num_steps:,}."
        )
        cost = per_step(facts, mean_ms, mean_ms / measured.share if measured.share else 0.0)
    reason, advice = _reason(facts, stage), _advice(facts, stage)
    late = facts.stragglers.straggler
    if agrees and late is not None and late.late_ms >= MOST_OF_WAIT * (measured.mean_ms or 0.0):
        waits = who_waits(facts.stragglers)
        reason = (
            f" {late.name.capitalize()} has its batch {units.milliseconds(late.late_ms)} late: "
            f"{waits} for it when the workers agree, with each batch, whether any has one left."
        )
        advice = late_batch(facts, late.worker, late.late_ms)
    elif agrees:
        reason, advice = _AGREES, _REPEAT
    return finding(
        facts,
        KEY,
        f"{sentence}{reason}",
        advice,
        cost,
        mean_ms=measured.mean_ms,
        median_ms=measured.median_ms,
        stage=stage.name if stage else None,
        stage_ms=stage.each_ms if stage else None,
        is_beside=is_beside,
    )


def _limit(facts: Facts, stage: Cause | None) -> str:
    if stage is None or stage.each_ms is None:
        return ""
    known = _input_kind(facts, stage)
    named = f"{known.name}, " if known else ""
    path = stage.name.removeprefix("Iterator::Root::").replace("::", " > ")
    each, of = units.milliseconds(stage.each_ms), "batch" if "Batch" in _kind(stage) else "element"
    return f" The limiting stage is {named}{path}: {each} for each {of} in captured steps (mean)."


def _reason(facts: Facts, stage: Cause | None) -> str:
    line = line_of_input(facts)
    most = most_of_python(facts) if _runs_python(facts, stage) else ""
    at = f" It is at {line.place} (`{line.text.strip()}`)." if line else ""
    if line and most and line.text.lstrip().startswith("def "):
        at = ""  # the line of its Python is a better one
    return f"{_limit(facts, stage)}{_python(facts, stage)}{at}{most}"


def waits_for_python(facts: Facts) -> bool:
    """Whether steps wait for a batch that Python makes."""
    return _runs_python(facts, _limiting_stage(facts)) and any(_waits(facts))


def _runs_python(facts: Facts, stage: Cause | None) -> bool:
    return stage is not None and (_kind(stage) == "Generator" or bool(_python_of(facts, stage)))


def _python_of(facts: Facts, stage: Cause | None) -> Cause | None:
    """The op that runs Python in the stage; a generator is known to be Python."""
    if stage is None or _kind(stage) == "Generator":
        return None
    causes = facts.held_up.of_kind("input-python")
    is_most = bool(causes) and causes[0].held_ms >= MOST_OF_WAIT * stage.held_ms
    return causes[0] if is_most else None


def _python(facts: Facts, stage: Cause | None) -> str:
    op = _python_of(facts, stage)
    if op is None or stage is None:
        return ""
    share = units.share(min(op.held_ms / stage.held_ms, 1.0))
    return f" In it, Python runs for {share} of that time ({op.detail})."


def _advice(facts: Facts, stage: Cause | None) -> str:
    if stage is None:
        return _RUN_AHEAD
    of_python = advice_on_python(facts) if _runs_python(facts, stage) else ""
    inside = facts.read_python_in_ops(0) if of_python else None
    if inside is not None and advice_by_text(facts, inside.line):
        return of_python.strip()  # the call that is slow, wherever it runs
    if _python_of(facts, stage) is not None:
        return f"{_IN_PYTHON}{of_python}"
    known = _input_kind(facts, stage)
    if known is None:
        return _RUN_AHEAD
    if _CACHE.search(stage.name):
        return _BEHIND_CACHE
    skips = f"{_SKIP_FIRST} " if "Skip::" in stage.name else ""
    own = _of_generator(facts, stage) or _of_singles(facts, stage)
    if known is KINDS.get(_kind(stage)):
        own = own or _of_map(facts, stage)
    of_python = f"{of_python.strip()} " if of_python else ""
    return f"{_of_pool(facts)}{skips}{of_python}{own or known.advice}"


def _of_pool(facts: Facts) -> str:
    """Of a pipeline whose own pool has fewer threads than the machine has cores."""
    num_cores = facts.environment.host.cpus if facts.environment else None
    line = facts.first_line_of_sources(_POOL)
    found = _POOL.search(line.text) if line else None
    if line is None or found is None or int(found[1]) >= (num_cores or 0):
        return ""
    return (
        f"{line.place} (`{line.text.strip()}`) gives the pipeline its own pool of "
        f"{units.counted(int(found[1]), 'thread')}, on {num_cores} cores: leave it out, so that a "
        "call for each core runs at once. "
    )


def _of_map(facts: Facts, stage: Cause) -> str | None:
    """By what the function of the only call of map() does; None if there are several."""
    if not _kind(stage).startswith(("Map", "ParallelMap")) or len(facts.maps) != 1:
        return None
    call, name = facts.maps[0], f"`{facts.maps[0].function}`"
    kept = (
        f"keep its output by cache() where it fits into memory, as {name} draws nothing and makes "
        "the same in each epoch"
    )
    if call.takes_batches:
        cached = "" if call.draws else f", or {kept}"
        return (
            f"Call map() behind batch(), if the ops of {name} take whole batches: they then run "
            f"once for a batch, not for each example. Otherwise do less in it{cached}."
        )
    less = f"do less in {name}"
    if (single := facts.first_line_of_sources(_OF_SINGLE)) is not None:
        return (
            f"{single.place} (`{single.text.strip()}`) parses one example at a time: call "
            "tf.io.parse_example in a map() behind batch(), which parses a whole batch. "
            f"Otherwise {less if call.draws else kept}."
        )
    if not call.is_parallel and _kind(stage) != "ParallelMap":
        less = f"call map() with num_parallel_calls=tf.data.AUTOTUNE, and {less}"
    if not call.draws:
        return f"{kept[0].upper()}{kept[1:]}; or {less}."
    return (
        f"{less[0].upper()}{less[1:]}: what it does before it draws random numbers can be a map() "
        "of its own, with cache() behind it."
    )


def _of_singles(facts: Facts, stage: Cause) -> str | None:
    """Of a batch() that is made of many elements: to record each of them makes what is behind it
    look longer, so it may be the stages before it as well."""
    inside = f"{stage.name}::"
    below = [each for each in facts.held_up.of_kind("input-stage") if each.name.startswith(inside)]
    num_elements = max((each.count for each in below), default=0.0)
    if not _kind(stage).startswith("Batch") or num_elements < MANY_ELEMENTS:
        return None
    names = [known.name for each in below if (known := _input_kind(facts, each))]
    return (
        f"{units.listed([*names, 'batch()'])} pass on about {num_elements:,.0f} single elements a "
        "step. Take the rows of a batch at once: a dataset of shuffled row numbers, with "
        "batch(), and a map() of tf.gather behind it; or cut the arrays into batches before "
        "from_tensor_slices(), and shuffle these."
    )


def _of_generator(facts: Facts, stage: Cause) -> str | None:
    """Of a Keras dataset: its own arguments. Of single examples: whole batches first."""
    if _kind(stage) != "Generator":
        return None
    if facts.lines_with(*OF_KERAS):
        inside = facts.read_python_in_ops(0)
        calls = inside is not None and _CALLS_TENSORFLOW.search(inside.line.text or "")
        return _TENSORFLOW_IN_KERAS if calls else _IN_KERAS
    path = stage.name.split("::")
    makes_examples = any(each.startswith(("Batch", "PaddedBatch")) for each in path)
    return _OF_EXAMPLES if makes_examples else None


def _input_kind(facts: Facts, stage: Cause) -> InputKind | None:
    """What is known of a stage, or of the call of the program that makes it among others.

    sample_from_datasets() draws the numbers of its datasets by a map() of its own, as Keras's
    datasets of directories decode, and rejection_resample() is made of filter(), map() and zip().
    """
    *above, last = stage.name.split("::")
    if _MIXES in (*above, last) and facts.first_line_of_sources(_RESAMPLES) is not None:
        return KINDS["RejectionResample"]
    below = (each.name for each in facts.held_up.of_kind("input-stage"))
    if (
        above
        and above[-1] == _MIXES
        and any(name.startswith(f"{stage.name}::") and name.endswith("::Random") for name in below)
    ):
        return KINDS[_MIXES]
    if "Map" in _kind(stage) and not facts.maps and facts.first_line_of_sources(_DIRECTORY):
        return KINDS["Directory"]
    return KINDS.get(_kind(stage))


def _kind(stage: Cause) -> str:
    """`Iterator::Root::Prefetch::ParallelMapV2` is a `ParallelMap`; any stage of a dataset that
    flat_map() makes is `FlatMap`, but for a generator, which is made of one."""
    *above, last = (each.partition("[")[0] for each in stage.name.split("::"))
    kind = last.rstrip("0123456789").removesuffix("V")
    return "FlatMap" if "FlatMap" in above and kind != "Generator" else kind


def removal(_facts: Facts, _result: Finding) -> Removal:
    """With a batch that is there when the step asks for it."""
    return Removal("free-input")
