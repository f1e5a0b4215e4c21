"""A scene as it is drawn: its question, what it is about, and the picture of its evidence."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strategy_contexts import child, shipped
from strategy_contexts.lecture.course import Scene
from strategy_contexts.lecture.question import Question
from strategy_contexts.lecture.recording import Program, Run, Trace
from strategy_contexts.stepper import page as stepper_page
from strategy_core.launcher.run_handle import RunHandle
from strategy_profiles.errors import LabError
from strategy_profiles.exports import download, step_pages
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.run.injected_delay import injected_delays
from strategy_profiles.spec.run_spec import RunSpec, parse_spec
from strategy_profiles.tables.store import Profile, load

LIVE = "Recorded on this machine, just now."
LIVE_WITHIN_S = 180.0

Launch = Callable[[RunSpec, str], RunHandle]
"""Starts a run of this name in the lab's runs folder."""


@dataclass(frozen=True, slots=True)
class EvaluatedScene:
    """One scene, evaluated."""

    question: Question
    origin: str
    """Where the recording is from, as a sentence."""
    picture: Callable[[], str]
    """Makes the page of the evidence: the context viewer, or a step of a run."""
    program: str = ""
    setup: tuple[dict[str, Any], ...] = ()
    """One box for each replica of a run."""
    run: str | None = None
    """Name of the live run, which the pages of the lab show."""


def as_recorded(scene: Scene) -> EvaluatedScene:
    """Compute a scene from the recording that comes with the lab."""
    recording = scene.recording
    if isinstance(recording, Program):
        trace = recording.recorded()
        return _of_trace(scene, trace, _comes_with_the_lab(trace["tensorflow"]))
    profile = recording.recorded()
    environment = profile.environment
    return _of_run(
        scene, profile, _comes_with_the_lab(environment.tensorflow if environment else "")
    )


def recorded_live(scene: Scene, launch: Launch, runs: Path) -> EvaluatedScene:
    """Record a scene on this machine and compute it from that; raises LabError."""
    recording = scene.recording
    if isinstance(recording, Program):
        trace = child.record(recording.source, strategy=shipped.STRATEGY, devices=shipped.DEVICES)
        return _of_trace(scene, trace, LIVE)
    name = _run_now(recording, launch)
    return _of_run(scene, load(runs / name), LIVE, name)


def _comes_with_the_lab(tensorflow: str) -> str:
    return f"Recorded earlier, with TensorFlow {tensorflow}; comes with the lab."


def _of_trace(scene: Scene, trace: Trace, origin: str) -> EvaluatedScene:
    question = scene.ask(trace)
    step = question.step or 1
    return EvaluatedScene(
        question, origin, lambda: stepper_page(trace, step=step), str(trace["source"])
    )


def _of_run(scene: Scene, profile: Profile, origin: str, run: str | None = None) -> EvaluatedScene:
    return EvaluatedScene(
        scene.ask(profile), origin, lambda: _picture(profile), setup=_setup(profile), run=run
    )


def _picture(profile: Profile) -> str:
    """The usual step of a run, or the report if no format shows a step."""
    for pages in step_pages().values():
        return pages.make(profile, None)
    return download(profile, "html").data.decode()


def _setup(profile: Profile) -> tuple[dict[str, Any], ...]:
    segment = profile.segments[0]
    names = short_names(segment.replica_devices)
    share = (segment.global_batch_size or 0) // segment.num_replicas
    delays = injected_delays(segment)
    return tuple(
        {
            "title": f"replica {replica}",
            "device": names[device],
            "examples": f"{share} examples a step",
            "delay": f"delay of {delays[replica]:g} ms" if replica in delays else "",
        }
        for replica, device in enumerate(segment.replica_devices)
    )


def _run_now(run: Run, launch: Launch) -> str:
    """Record a run in the runs folder and wait for its end; return its name. Raises LabError."""
    name = f"lecture-{run.name}-{time.time_ns() // 1_000_000}"
    handle = launch(parse_spec(run.spec), name)
    if not handle.wait(LIVE_WITHIN_S):
        handle.stop()
        raise LabError(f"The run {name} was not over after {LIVE_WITHIN_S:.0f} s")
    if handle.status != "finished":
        raise LabError(f"The run {name} {handle.status}: {handle.message or 'no message'}")
    return name
