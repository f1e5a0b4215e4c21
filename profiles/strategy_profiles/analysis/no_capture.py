"""Why a run has no captured step, as timeline and replay say it."""

from __future__ import annotations

from strategy_profiles.analysis.failures import explained_without_steps
from strategy_profiles.run.events import Note, WindowCaptured
from strategy_profiles.tables.recorded import unconverted_captures
from strategy_profiles.tables.store import Profile

LOST = "the files of its captured steps are damaged or missing"
NO_STEP = "This run recorded no step."
ANNOTATE_STEPS = (
    'Annotate steps with tf.profiler.experimental.Trace("train", step_num=...), or with '
    'jax.profiler.StepTraceAnnotation("train", step_num=...); in PyTorch call step() of the '
    "profiler after each. Then import a profile of them."
)


def capture_problems(profile: Profile, segment: int) -> tuple[str, ...]:
    """Return what the captures of a segment lack, once each, as their recording says."""
    return tuple(
        dict.fromkeys(
            problem
            for window in profile.events(WindowCaptured)
            if window.segment == segment
            for problem in window.problems
        )
    )


def why_no_step(profile: Profile) -> tuple[str, str]:
    """Return that a run that is over has no step, and why; of a failure, what to do about it."""
    if explained := explained_without_steps(profile):
        return explained.sentence, explained.advice
    if profile.segments:
        return NO_STEP, "It ended in its first step: the page Why says how."
    warnings = [note.message for note in profile.events(Note) if note.level == "warning"]
    ended = profile.status.message or "It ended before its first step."
    return NO_STEP, next(iter(warnings), ended)


def why_no_capture(profile: Profile) -> tuple[str, str]:
    """Return why no step of a run is captured, and what to do or to expect."""
    if not profile.status.is_over:
        return "No step is captured yet.", "The first capture follows soon after the start."
    if not any(len(source.steps) for source in profile.sources):
        return why_no_step(profile)
    if unconverted := unconverted_captures(profile.path):
        return "No capture of this run has been converted.", f"{unconverted}."
    if profile.is_lost("replica_steps") or profile.is_lost("spans"):
        return f"No captured step of this run can be read: {LOST}.", "Record the run again."
    return (
        "No step of this run was captured in full.",
        "Turn on “Capture every step in full” of a new run.",
    )
