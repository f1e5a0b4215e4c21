"""The ways to run the same steps that `benchmarks.capture_overhead` compares, and their costs."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from strategy_core.recorder.planner import EARLY_STEP, WindowPlanner
from strategy_profiles.errors import SpecError
from strategy_profiles.run.layout import WorkerFolder, worker_folder
from strategy_profiles.spec.run_spec import Capture, RunSpec, parse_spec

WARM_UP_STEPS = 12
"""Tracing, and the small window at a segment's beginning."""
FEWER_WARM_UP_STEPS = 8
"""The same, where a step lasts so long that others would take minutes."""
LONG_STEP_MS = 300.0
FIRST_BATCH = 64
CALIBRATIONS = 6
CLOSE_ENOUGH = 0.08


@dataclass(frozen=True, slots=True)
class Kind:
    """How steps are run. Without `capture` nothing of the recorder is there."""

    capture: Capture | None
    block_s: float | None = None
    """How long a block is, beside blocks of bare steps. None: it takes turns with them step by
    step, and what it has under way is seen to its end in its turn."""


KINDS: dict[str, Kind] = {
    "budget": Kind(Capture(marks=False)),
    "marks": Kind(Capture(overhead_budget=1e-9)),
    "default": Kind(Capture()),
    "every step": Kind(Capture(marks=False, every_step=True), 3.0),
    "profiler alone": Kind(None, 2.0),
    "windows alone": Kind(None, 2.0),
    "bare again": Kind(None),
}
TARGETS = {
    "budget": {10: "1.01x", 100: "1.01x"},
    "marks": {10: "1.05x", 100: "1.01x"},
    "default": {10: "1.05x", 100: "1.01x"},
    "every step": {10: "1.20x", 100: "1.05x"},
    "profiler alone": {},
    "windows alone": {},
    "bare again": {},
}
"""At most so much of a bare step, by its length in ms."""
_CPUCLOCK_SCHED = 2
"""Of Linux's `clock_getcpuclockid`: the processor time of a process."""
HELPER_S = 2.0
"""A converter's imports are over by then."""
TURN_S = 0.02
"""About so long is a turn of what goes step by step: a busy machine seldom changes within it."""
TURNS_S = 2.0
"""So long is a kind's part of a round."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a block of steps took."""

    steps: int
    wall_s: float
    cpu_s: float
    median_ms: float
    captured: int = 0
    has_work: bool = False
    """Something more than steps was under way."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.steps + other.steps,
            self.wall_s + other.wall_s,
            self.cpu_s + other.cpu_s,
            (self.median_ms + other.median_ms) / 2,
            self.captured + other.captured,
            self.has_work or other.has_work,
        )


@dataclass(frozen=True, slots=True)
class Opening:
    """What the recording of a segment begins with, and bare steps just before and after it.

    Bare steps of the minutes that follow would not do: a machine that others use changes its speed
    by more than an opening takes.
    """

    recorded: Cost
    """The steps after the traced one, until the first window and the graph are written."""
    around: Cost

    def longer(self, seconds: Callable[[Cost], float]) -> float:
        """Return by how much each of its steps is longer than a bare one, in seconds."""
        return (
            seconds(self.recorded) / self.recorded.steps - seconds(self.around) / self.around.steps
        )


Step = Callable[[], bool]
"""One step; whether it was captured."""
Side = Callable[[int], Cost]
"""A block of so many steps."""


def made_to_last(workload: str, devices: int, step_ms: int) -> tuple[Any, float]:
    """The segment whose bare step lasts about `step_ms` (0: as it comes), and how long it does.

    Where the workload's data has too few examples for such a batch, the step is shorter.
    """
    from strategy_core.runtime import logical_devices as logical

    batch = FIRST_BATCH if step_ms else 8 * devices
    spec = parse_spec(
        {"devices": f"cpu:{devices}", "workload": workload, "global_batch_size": batch}
    ).with_changes({"capture.marks": False})
    logical.create_logical_devices(spec)
    built, took_ms = _built(spec)
    too_many: int | None = None
    for _ in range(CALIBRATIONS):
        if not step_ms or abs(took_ms / step_ms - 1) < CLOSE_ENOUGH:
            break
        batch = built.spec.global_batch_size
        wanted = next_batch(batch, took_ms, step_ms, devices, too_many)
        if wanted == batch:
            break
        try:
            built, took_ms = _built(spec.with_changes({"global_batch_size": wanted}))
        except SpecError:
            too_many = wanted
    return built, took_ms


def next_batch(
    batch: int, took_ms: float, wanted_ms: float, devices: int, too_many: int | None
) -> int:
    """The batch to try after one whose step took `took_ms`; `too_many` examples are not there."""
    wanted = batch * wanted_ms / took_ms
    if too_many is not None:
        wanted = min(wanted, (batch + too_many) / 2)
    return max(devices, int(wanted / devices) * devices)


def _built(spec: RunSpec) -> tuple[Any, float]:
    """The segment of a spec, and how long its bare step lasts."""
    from strategy_core.training import segment

    built = segment.build(spec)
    _bare_step(built)  # is traced
    first_ms = _block(partial(_bare_step, built), 2).median_ms
    for _ in range(warm_up_steps(first_ms)):
        _bare_step(built)
    blocks, steps = (1, 3) if first_ms > LONG_STEP_MS else (3, 30)
    # Whatever else runs makes a block slower, never faster.
    one = partial(_bare_step, built)
    return built, min(_block(one, steps).median_ms for _ in range(blocks))


def warm_up_steps(step_ms: float) -> int:
    return WARM_UP_STEPS if step_ms < LONG_STEP_MS else FEWER_WARM_UP_STEPS


def profiled_steps(step_ms: float) -> int:
    """Steps in a window of the profiler alone: as many as the recorder takes where it captures
    every step."""
    planner = WindowPlanner(1.0, Capture().window_steps, every_step=True)
    planner.open_segment()
    for _ in range(EARLY_STEP):
        planner.step_done(step_ms, captured=False)
    return planner.steps_to_capture()


@dataclass(frozen=True, slots=True)
class Sides:
    """What takes turns, all of it warm: functions traced, helpers started."""

    bare: Side
    others: dict[str, Side]
    openings: dict[str, Opening]


def sides(built: Any, bare_ms: float, folder: Path, names: Sequence[str]) -> Sides:
    """The bare side, and that of each kind."""
    functions = {False: _function(built, False), True: _function(built, True)}
    graphs: dict[bool, Path] = {}
    others: dict[str, Side] = {}
    openings: dict[str, Opening] = {}

    def bare(steps: int) -> Cost:
        return _block(partial(_bare_step, built), steps)

    for number, name in enumerate(names):
        capture = KINDS[name].capture
        if capture is None:
            others[name] = bare
            if name != "bare again":
                how = _profiled if name == "profiler alone" else _in_windows
                others[name] = partial(how, built, profiled_steps(bare_ms))
            continue
        home = worker_folder(folder / str(number), 0)
        others[name], openings[name] = _recorded(
            built, bare_ms, functions[capture.marks], KINDS[name], home, graphs, bare
        )
    built.custom.step = functions[False]
    for _ in range(2):
        _bare_step(built)
    return Sides(bare, others, openings)


def _function(built: Any, with_marks: bool) -> Any:
    """The traced step of the same model under the same strategy."""
    from strategy_core.training import workload
    from strategy_core.training.injected_delay import Delays
    from strategy_core.training.train_step import build_step

    work = workload.load(built.spec.workload, built.spec.workload_options)
    return build_step(
        built.strategy, built.model, built.optimizer, work, delays=Delays({}), with_marks=with_marks
    )


def _bare_step(built: Any) -> bool:
    batch, shares = next(built.custom.batches)
    built.custom.step(batch, shares).numpy()
    return False


def _recorded(
    built: Any,
    bare_ms: float,
    function: Any,
    kind: Kind,
    home: WorkerFolder,
    graphs: dict[bool, Path],
    bare: Side,
) -> tuple[Side, Opening]:
    """Steps through a recorder of their own, as the lab's loop does them; and its opening."""
    from strategy_core.recorder import converter
    from strategy_core.recorder.recorder import Recorder
    from strategy_core.training.custom_loop import CustomLoop

    capture = kind.capture
    assert capture is not None
    converter.prepare()  # as the lab's spare worker does
    time.sleep(HELPER_S)
    recorder = Recorder(home, capture=capture)
    recorder.open_segment(built.opened(0, 0))
    loop = CustomLoop(built.custom.batches, function)

    def step() -> bool:
        with recorder.step(examples=built.spec.global_batch_size) as recorded:
            loop.run_step(recorded)
        return recorded.captured

    step()
    if capture.marks in graphs:  # the function was there: its graph was written by the first kind
        shutil.copy(graphs[capture.marks], home.graph(0))
    whole = partial(_block, step, has_work=lambda: recorder.has_work)
    until_settled = partial(_block, step, settle=recorder.settle)
    steps = warm_up_steps(bare_ms)
    before = bare(steps)
    opening = (until_settled if capture.every_step else whole)(steps)
    recorder.settle()
    opened = Opening(opening, before + bare(steps))
    graphs.setdefault(capture.marks, home.graph(0))
    return (whole if kind.block_s is None else until_settled), opened


def _profiled(built: Any, window: int, steps: int) -> Cost:
    """Windows of TensorFlow's own profiler, one after the other."""
    import tensorflow as tf

    profiler, number = tf.profiler.experimental, 0
    scratch = Path(tempfile.mkdtemp())

    def step() -> bool:
        nonlocal number
        if number % window == 0:
            if number:
                profiler.stop()
            profiler.start(str(scratch / str(number)))
        with profiler.Trace("train", step_num=number, _r=1):
            _bare_step(built)
        number += 1
        return True

    try:
        return _block(step, -(-steps // window) * window, profiler.stop)
    finally:
        shutil.rmtree(scratch)


def _in_windows(built: Any, window: int, steps: int) -> Cost:
    """The recorder's own windows, one after the other, and nothing done with their captures."""
    from strategy_core.recorder.window import FollowedWindow

    scratch = Path(tempfile.mkdtemp())
    windows: list[FollowedWindow] = []
    number = 0

    def step() -> bool:
        nonlocal number
        if number % window == 0:
            before = windows[-1] if windows else None
            if before is not None:
                before.stop()
            what = (len(windows), 0, number, window, scratch / str(number))
            windows.append(FollowedWindow(*what, before=before))
            windows[-1].start()
        with windows[-1].annotate(number):
            _bare_step(built)
        number += 1
        return True

    def settle() -> None:
        windows[-1].stop()
        for one in windows:
            one.wait()

    try:
        return _block(step, -(-steps // window) * window, settle)
    finally:
        shutil.rmtree(scratch)


def _block(
    step: Step,
    steps: int,
    settle: Callable[[], None] = lambda: None,
    has_work: Callable[[], bool] = lambda: False,
) -> Cost:
    """So many steps, as many more as there is work under way, and what is left to do after them."""
    walls: list[float] = []
    captured, worked = 0, False
    helpers = psutil.Process().children()
    cpu, begin = _cpu_s(helpers), time.perf_counter()
    before = begin
    while len(walls) < steps or has_work():
        captured += step()
        now = time.perf_counter()
        walls.append(now - before)
        before = now
        worked = worked or has_work()
    settle()
    wall = time.perf_counter() - begin
    cpu = _cpu_s(helpers) - cpu
    return Cost(len(walls), wall, cpu, statistics.median(walls) * 1e3, captured, worked)


def _cpu_s(helpers: Sequence[psutil.Process]) -> float:
    """Processor time of this process and its helpers so far."""
    return time.process_time() + sum(map(_other_cpu_s, helpers))


def _other_cpu_s(process: psutil.Process) -> float:
    """To the nanosecond where the kernel has a clock for it; /proc tells hundredths of a second."""
    try:
        return time.clock_gettime((~process.pid << 3) | _CPUCLOCK_SCHED)
    except OSError:
        times = process.cpu_times()
        return float(times.user + times.system)
