"""Which stage of the input pipeline do the steps wait for?"""

from __future__ import annotations

from strategy_profiles.analysis.facts import Facts
from strategy_profiles.analysis.input_stages import Stage, input_stages
from strategy_profiles.answers.answer import Answer, Column, Missing, table
from strategy_profiles.tables.store import Profile

KEY = "input_stages"
TITLE = "Input pipeline"
_DEFINITION = (
    "Stages of tf.data, each below the stage that reads it; means of a captured step. Own time is "
    "that of its calls without the stages below in the same thread; a stage with a buffer is "
    "called to take an element out, so its own time is the wait for one."
)


def _tuned(stage: Stage) -> str | None:
    return None if stage.is_autotuned is None else "yes" if stage.is_autotuned else "no"


_COLUMNS = (
    Column("name", "Stage", "name"),
    Column("dataset", "Dataset", "name", is_detail=True),
    Column("held_ms", "Steps wait", "ms"),
    Column("self_ms", "Own time", "ms"),
    Column("count", "Elements per step", "number", is_detail=True),
    Column("parallelism", "Parallelism", "count"),
    Column("buffer_size", "Buffer", "count"),
    Column("buffered", "Held on average", "number", is_detail=True),
    Column("is_autotuned", "Autotuned", value=_tuned),
)


def input_pipeline(profile: Profile, facts: Facts) -> Answer:
    """Return the answer for a segment."""
    pipeline = input_stages(profile, facts.segment.segment)
    if not pipeline.stages:
        return Answer(KEY, parts=(Missing(KEY, TITLE, pipeline.reason or "no stage was recorded"),))
    return Answer(
        KEY,
        parts=(
            table(
                KEY,
                TITLE,
                pipeline.stages,
                _COLUMNS,
                definition=_DEFINITION,
                source="measured",
                notes=(pipeline.sentence,),
                depths=tuple(stage.depth for stage in pipeline.stages),
            ),
        ),
    )
