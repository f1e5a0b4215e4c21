"""Samples the stack of the thread that trains, from TensorFlow's import to the program's end.

Steps are timed by the recorder; what happens before, between and after them leaves no event. So a
thread looks at the stack of the training thread 8 to 20 times a second, keeps what it was doing and
for which line of the program, and writes it to a file of its own (`stacks.jsonl`). The program may
be in one call for minutes, so nothing is left to the program's own thread.

- Intervals are random, because steps of a multiple of a fixed interval would be seen at one place.
- A thread that runs Python keeps the interpreter's lock for up to the switch interval (5 ms), and
  what is sampled is where it lets go: often the next call of TensorFlow. So the interval is short
  (`_SWITCH_S`) just before a sample. With 0.5 ms, `tf.constant` had 44 to 50 % of the samples of a
  loop of which it takes 11 %, after 0.6 ms of Python each. For the whole time such an interval
  would make programs whose threads compete for the lock switch more often.
- When the sampler's wait is over it gets the lock where the program lets it go, too. So it sleeps
  once more, for a random time: after a fixed one of 1 ms that call had 3 % of the samples.
- After a call that kept the lock the sample is taken at once, by whichever thread of the lab's gets
  the lock first (`kept_lock`): during a sleep the program would go on to the next
  lines, which got half of the time of `gc.collect()` in a step of 240 ms. They got a quarter when
  only the sampler's own thread took samples, because the thread that writes steps was often first.
- A sample takes 60 to 170 microseconds of processor time, most of it for two wake-ups
  (`benchmarks.stack_sampler`); most stacks have been seen before and are looked up.
"""

from __future__ import annotations

import itertools
import linecache
import math
import random
import sys
import threading
import time
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

from strategy_core.private_tf import frame_names
from strategy_core.recorder.other_threads import OtherThreads
from strategy_core.recorder.stack_roles import WITHIN, Role, line_of, role_of
from strategy_core.runtime import kept_lock, switch_interval
from strategy_core.runtime.gc_control import postponed
from strategy_profiles.errors import LabError
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.event_parts import (
    LONGEST_LINE,
    Loop,
    SourceFile,
    SourceLine,
    StackFrame,
    StackPlace,
)
from strategy_profiles.run.events import StacksSampled

EVERY_S, AT_FIRST_S = 0.125, 0.05
"""Mean interval between two samples, and the same of the first `_FIRST_SAMPLES` of a recording: a
short run has few, and a long one needs no more."""
_FIRST_SAMPLES = 400
_AHEAD_S = (0.0002, 0.002)
"""Least and most time between the end of a wait and the sample."""
_SWITCH_S = 0.00001
"""Switch interval during that time."""
_MOST_SINCE_KEPT = 20
"""Samples after a call that kept the lock, until which the next one is expected."""
_WRITE_EVERY_S = 2.0
_MAX_FRAMES = 400
_MOST_LINES = 8
"""Frames of the program that a place keeps: the outermost ones, and the innermost."""
_MOST_KNOWN, _MOST_ROLES = 4096, 50_000
_MOST_UNWRITTEN = 20_000
"""Samples in memory. An even number, for `_thin`."""
_MOST_WORKERS = 16
"""Of more workers than that, it is not recorded which do a step: too many stacks would differ."""
AROUND = 2
"""Lines before and after a sampled one that are kept with it."""
_LARGEST_FILE = 1 << 18
"""Characters of a source file whose loops are looked for, and whose text is kept."""
_MOST_SOURCE = 1 << 20
"""Characters of all source files that a run keeps."""
_NO_STATEMENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_NO_COLLECTION = postponed() if sys.version_info < (3, 12) else nullcontext()
"""As in `python_sampler`: Python 3.11 may collect garbage while it makes a thread's frames."""
_STRONG = (
    *("tracing", "epoch-start", "input", "host-read", "logging", "import", "recording"),
    "workers",
)
"""What these functions do, they do as a whole: the outermost of them counts."""
_TAKEN = ("input", "epoch-start")
"""What is done to take a batch."""
_AT_EPOCH_END = ".on_epoch_end"
"""How the name of the method ends that Keras calls of a `PyDataset`."""


class Stack(NamedTuple):
    """A stack, reduced to what the account tells apart."""

    doing: str
    within: str
    call: str
    lines: tuple[tuple[str, int, str], ...]
    """File, line and function of the program's frames, the outermost first."""
    busy: tuple[int, ...] = ()
    """Workers of a `ClusterCoordinator` that do a step meanwhile."""


class StackSampler:
    """Samples one thread from `start` to `stop`; writes once it knows where (`write_to`)."""

    def __init__(
        self,
        program_ns: int,
        *,
        now_ns: Callable[[], int] = time.time_ns,
        cpu_ns: Callable[[], int] = time.process_time_ns,
        failed: Callable[[Exception], None] = lambda _error: None,
    ) -> None:
        """`program_ns` is when the process started, by the wall clock; `failed` is called with an
        error of the sampling itself, which ends it."""
        self._failed = failed
        self._program_ns = program_ns
        self._now_ns = now_ns
        self._cpu_ns = cpu_ns
        self._thread = self._main_thread = threading.get_ident()
        self._path: Path | None = None
        self._num_recorded = 0
        self._log: EventLog | None = None
        self._stopping = threading.Event()
        self._due_s = math.inf
        """When the next sample is due, by the monotonic clock; infinite once it is taken."""
        self._turn = threading.Lock()
        """Held while a sample is taken or written."""
        self._sampler = threading.Thread(target=self._run, daemon=True, name="stack-sampler")
        self._last_ns = self._since_ns = now_ns()
        self._last_cpu_ns = cpu_ns()
        self._after_us: list[int] = []
        self._used_us: list[int] = []
        self._for_us: list[int] = []
        """Time that each sample counts for, up to a common factor."""
        self._longest_wait_us = 0
        """Longest wait for the next sample, if a call has kept the lock lately; 0 otherwise."""
        self._num_since_kept = _MOST_SINCE_KEPT
        """Samples since a call kept the lock."""
        self._place: list[int] = []
        self._stacks: dict[Stack, int] = {}
        self._roles: dict[CodeType, Role] = {}
        self._known: dict[tuple[CodeType | int, ...], Stack] = {}
        """Stacks by their functions, the innermost first, and the lines of the program's."""
        self._files: set[str] = set()
        self._lines: set[tuple[str, int]] = set()
        self._workers: dict[int, int] = {}
        """Workers of a `ClusterCoordinator` by the thread that waits for their steps."""
        self._source_left = _MOST_SOURCE
        self._others = OtherThreads(self._role_of)

    def start(self) -> None:
        kept_lock.when_kept.append(self._look_if_due)
        self._sampler.start()

    @property
    def _not_ops(self) -> set[int]:
        return {self._thread, self._main_thread, threading.get_ident()}

    def watch(self, thread: int) -> None:
        """Sample another thread until it ends: the one that trains."""
        self._thread = thread

    def write_to(self, path: Path) -> None:
        """Write what was sampled so far, and what will be, to this file."""
        self._path = path

    def stop(self) -> None:
        """Stop, and write the last samples. Does nothing in a forked child."""
        if self._stopping.is_set() or not self._sampler.is_alive():
            return
        self._stopping.set()
        self._sampler.join()
        with suppress(LabError, OSError), self._turn:  # without them the run is still complete
            self._write()
            if self._log is not None:
                self._log.close()

    # -- the thread

    def _run(self) -> None:
        try:
            self._sample()
        except (LabError, OSError):
            pass  # a full disk: the run is still complete
        except Exception as error:
            self._failed(error)
        finally:
            with suppress(ValueError):  # a forked child has none
                kept_lock.when_kept.remove(self._look_if_due)

    def _sample(self) -> None:
        choose = random.Random()  # the program's own numbers stay as they are
        written_s = time.monotonic()
        while True:
            ahead_s = choose.uniform(*_AHEAD_S)
            wait_s = max(0.0, self._chosen_wait_s(choose) - ahead_s)
            self._due_s = time.monotonic() + wait_s
            if kept_lock.wait(self._stopping, wait_s):
                return
            with self._turn:
                if self._due_s < math.inf:
                    self._due_s = math.inf
                    self.look(ahead_s)
                if time.monotonic() - written_s >= _WRITE_EVERY_S and self._path is not None:
                    written_s = time.monotonic()
                    self._find_workers()
                    self._write()

    def _look_if_due(self) -> None:
        """Take the sample that is due. Never waits: in a forked child nothing ends `_turn`."""
        if time.monotonic() < self._due_s or not self._turn.acquire(blocking=False):
            return
        try:
            due_s, self._due_s = self._due_s, math.inf
            if due_s < math.inf:
                self.look(kept_s=time.monotonic() - due_s)
        except Exception as error:  # not the business of the thread that came first
            self._stopping.set()
            self._failed(error)
        finally:
            self._turn.release()

    def _chosen_wait_s(self, choose: random.Random) -> float:
        """Until the next sample.

        It may be short if a call kept the lock lately: what follows such a call is then seen as
        well, where the next such call comes before the mean interval is over.
        """
        if self._num_since_kept >= _MOST_SINCE_KEPT:
            self._longest_wait_us = 0
            return choose.uniform(0.5, 1.5) * self._mean_s
        longest_s = 2 * self._mean_s
        self._longest_wait_us = round(longest_s * 1e6)
        return choose.uniform(0.0, longest_s)

    @property
    def _mean_s(self) -> float:
        if self._path is None or self._num_recorded >= _FIRST_SAMPLES:
            return EVERY_S
        self._num_recorded += 1
        return AT_FIRST_S

    def look(self, ahead_s: float = 0.0, *, kept_s: float = 0.0) -> None:
        """Take one sample, after `ahead_s`. A call has kept the interpreter's lock for `kept_s`
        since the sample was due, and has just let it go."""
        switch_interval.shorten(_SWITCH_S)
        try:
            if ahead_s:
                time.sleep(ahead_s)
            with _NO_COLLECTION:
                frames = sys._current_frames()
                frame = frames.get(self._thread) or frames.get(self._main_thread)
                stack = None if frame is None else self._reduced(frame)
                if stack is not None and self._workers:
                    stack = stack._replace(busy=self._busy(frames))
                if stack is not None:
                    self._others.look_into_ops(frames, self._not_ops)
                del frame, frames
        finally:
            switch_interval.restore(_SWITCH_S)
        if stack is not None:
            self._add(stack, self._now_ns(), round(kept_s * 1e6))

    def _find_workers(self) -> None:
        named = ((frame_names.closure_worker(each.name), each) for each in threading.enumerate())
        workers = {
            each.ident: at for at, each in named if at is not None and each.ident is not None
        }
        self._workers = workers if len(workers) <= _MOST_WORKERS else {}

    def _busy(self, frames: Mapping[int, FrameType]) -> tuple[int, ...]:
        busy = (worker for thread, worker in self._workers.items() if _is_busy(frames.get(thread)))
        return tuple(sorted(busy))

    def _add(self, stack: Stack, now_ns: int, kept_us: int = 0) -> None:
        number = self._stacks.setdefault(stack, len(self._stacks))
        after_us = max(0, (now_ns - self._last_ns) // 1000)
        self._after_us.append(after_us)
        self._last_ns += after_us * 1000
        self._used_us.append(max(0, (self._cpu_ns() - self._last_cpu_ns) // 1000))
        self._last_cpu_ns += self._used_us[-1] * 1000
        self._place.append(number)
        # A call that kept the lock has that time; the wait before it is random. After such calls
        # the waits begin at the same place of each step. A wait of t, drawn from 0 to b, represents
        # all that last longer than t, a part 1 - t/b of them; its density is 1/b; so it counts for
        # b - t. Counted as t, what comes just after `gc.collect()` got a third of its time.
        waited_us = max(0, after_us - kept_us)
        if self._longest_wait_us:
            waited_us = max(0, self._longest_wait_us - waited_us)
        self._for_us.append(waited_us + min(kept_us, after_us))
        self._num_since_kept = 0 if kept_us else self._num_since_kept + 1
        if len(self._place) >= _MOST_UNWRITTEN:  # a program that does not train, or not yet
            self._thin()

    def _thin(self) -> None:
        """Keep every second sample, which then counts for the time of the one before as well."""
        self._after_us, self._used_us, self._for_us = (
            [first + second for first, second in zip(values[::2], values[1::2], strict=True)]
            for values in (self._after_us, self._used_us, self._for_us)
        )
        self._place = self._place[1::2]

    def _counts_us(self) -> list[int]:
        """The time that each sample counts for; empty if it is that since the sample before."""
        if self._for_us == self._after_us or not any(self._for_us):
            return []
        factor = sum(self._after_us) / sum(self._for_us)
        return [round(each * factor) for each in self._for_us]

    def _reduced(self, frame: FrameType) -> Stack:
        """Reduce a stack, or look it up: the same functions at the same lines come again."""
        codes: list[CodeType] = []
        numbers: list[int] = []
        roles = self._roles
        current: FrameType | None = frame
        while current is not None and len(codes) < _MAX_FRAMES:
            code = current.f_code
            role = roles.get(code) or self._role_of(code)
            codes.append(code)
            if role.origin == "program":
                numbers.append(line_of(current))
            current = current.f_back
        key: tuple[CodeType | int, ...] = (*codes, *numbers)
        stack = self._known.get(key)
        if stack is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            stack = self._known[key] = self._new(codes, numbers)
        return stack

    def _role_of(self, code: CodeType) -> Role:
        role = self._roles.get(code)
        if role is None:
            if len(self._roles) >= _MOST_ROLES:  # functions that AutoGraph makes in each trace
                self._roles.clear()
            role = self._roles[code] = role_of(code)
        return role

    def _new(self, codes: Sequence[CodeType], numbers: Sequence[int]) -> Stack:
        roles = [self._role_of(code) for code in codes]
        own = [code for code, role in zip(codes, roles, strict=True) if role.origin == "program"]
        lines = [
            (code.co_filename, number, code.co_qualname)
            for code, number in zip(own, numbers, strict=True)
        ]
        return reduced(roles[::-1], lines[::-1])

    def _write(self) -> None:
        if self._path is None or not self._place:
            return
        with _NO_COLLECTION:
            frames = sys._current_frames()
            threads = self._others.since_last_look(frames, {self._thread, *self._workers})
            del frames
        if self._log is None:
            self._log = EventLog(self._path)
        stacks, self._stacks = self._stacks, {}
        files = sorted({line[0] for stack in stacks for line in stack.lines} - self._files)
        self._files.update(files)
        event = StacksSampled(
            program_ns=self._program_ns,
            since_ns=self._since_ns,
            after_us=self._after_us,
            place=self._place,
            places=[_stack_place(stack) for stack in stacks],
            loops=[loop for file in files for loop in outermost_loops(file)],
            around=self._new_lines(stacks),
            cpu_us=self._used_us,
            sources=self._sources(files),
            for_us=self._counts_us(),
            threads=threads,
            in_ops=self._others.in_ops(),
        )
        self._since_ns, self._after_us, self._used_us, self._place = self._last_ns, [], [], []
        self._for_us = []
        self._log.write(event)

    def _sources(self, files: Iterable[str]) -> list[SourceFile]:
        """The texts of new files of the program, as far as they are not too many or too large."""
        sources = []
        for file in files:
            text = "".join(linecache.getlines(file))
            if text and len(text) <= min(_LARGEST_FILE, self._source_left):
                self._source_left -= len(text)
                sources.append(SourceFile(file, text))
        return sources

    def _new_lines(self, stacks: Iterable[Stack]) -> list[SourceLine]:
        """The lines around those at which these stacks are, that were not written before."""
        wanted = {
            (file, near)
            for stack in stacks
            for file, line, _ in stack.lines[-1:]
            for near in range(max(1, line - AROUND), line + AROUND + 1)
        }
        new = sorted(wanted - self._lines)
        self._lines |= wanted
        texts = {each: text for each in new if (text := linecache.getline(*each))}
        return [
            SourceLine(*each, text.rstrip().expandtabs()[:LONGEST_LINE])
            for each, text in texts.items()
        ]


def reduced(roles: Sequence[Role], lines: Sequence[tuple[str, int, str]]) -> Stack:
    """Reduce a stack: the role of each frame, the outermost first, and the program's lines."""
    within = next((role.within for role in roles if role.within), "")
    # What a data set of the program's does at the end of an epoch, where Keras calls it, is no wait
    # for a batch and makes no iterator.
    is_own = any(role.origin == "program" and role.name.endswith(_AT_EPOCH_END) for role in roles)
    kinds = [
        role.does for role in roles if role.does in _STRONG and not (is_own and role.does in _TAKEN)
    ]
    # The recorder takes no batch of its own: `recorder.dataset` passes the program's on.
    taken = [does for does in kinds if does in _TAKEN]
    strong = (taken if taken and kinds[0] == "recording" else kinds or [""])[0]
    if strong == "input" and any(role.does == "reduce" for role in roles):
        strong = "agreement"  # workers tell each other whether one of them has a batch left
    innermost = next((role for role in roles[::-1] if role.name), None)
    if not strong and innermost is not None and innermost.does == "fit":
        # `fit` itself, and Keras's wrapper of what it has called, only free an iterator.
        strong = "epoch-start"
    last = max((i for i, role in enumerate(roles) if role.origin == "program"), default=-1)
    inside = roles[last + 1 :]
    call = next((role.name for role in inside if role.name), "")
    if within == "callback":
        call = _callback(roles)
    does = {role.does for role in roles} - set(WITHIN)
    if "copy" in does and not strong and "function" not in does:
        call = "constant"  # whatever takes the array: `embedding_lookup` copies it as well
    if strong or "function" in does or "op" in does:
        doing = strong or ("function" if "function" in does else "op")
    else:
        # Of wrappers alone, the call has returned: what it made is being freed.
        doing = (
            "call" if any(role.origin != "library" and role.name for role in inside) else "python"
        )
    kept = lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], lines[-1]]
    return Stack(doing, within, call, tuple(kept))


def _callback(roles: Sequence[Role]) -> str:
    """The class whose method Keras's list of callbacks calls, or the function of the program that
    it calls for a `LambdaCallback`; empty for the list itself, which is below Keras's trainer."""
    called = list(itertools.dropwhile(lambda role: role.within != "callback", roles))
    names = (role.name.rpartition(".")[0] for role in called if ".on_" in role.name)
    functions = (role.name.rpartition(".")[2] for role in called if role.origin == "program")
    return next((name for name in names if name != "CallbackList"), next(functions, ""))


def _stack_place(stack: Stack) -> StackPlace:
    frames = [
        StackFrame(file, line, function, linecache.getline(file, line).strip()[:LONGEST_LINE])
        for file, line, function in stack.lines
    ]
    return StackPlace(stack.doing, stack.within, stack.call, frames, list(stack.busy))


def _is_busy(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame_names.is_run_of_closure(frame.f_code.co_name):
            return True
        frame = frame.f_back
    return False


def outermost_loops(file: str) -> Iterator[Loop]:
    """The loops of a source file that are in no other loop of the same function.

    Not by `ast.parse`: Python 3.11 and 3.12 count the depth of a syntax tree for all threads
    together. While this thread made a tree, AutoGraph could fail to make one in the program's
    ("AST constructor recursion depth mismatch").
    """
    lines = linecache.getlines(file)
    if sum(map(len, lines)) > _LARGEST_FILE:
        return
    loop: tuple[int, int] | None = None
    """First line and depth of the open loop."""
    end = 0
    with suppress(SyntaxError, tokenize.TokenError):
        for depth, word, first, last in _statements(iter([*lines, ""]).__next__):
            is_else = loop is not None and depth == loop[1] and word == "else"
            if loop is not None and depth <= loop[1] and not is_else:
                yield Loop(file, loop[0], end)
                loop = None
            if loop is None and word in {"for", "while"}:
                loop = first, depth
            end = last
        if loop is not None:
            yield Loop(file, loop[0], end)


def _statements(readline: Callable[[], str]) -> Iterator[tuple[int, str, int, int]]:
    """Depth, first word without `async`, first and last line of each statement."""
    depth, first = 0, 0
    words: list[str] = []
    for token in tokenize.generate_tokens(readline):
        depth += (token.type == tokenize.INDENT) - (token.type == tokenize.DEDENT)
        if token.type == tokenize.NEWLINE:
            yield depth, (words[1:] if words[0] == "async" else words)[0], first, token.start[0]
            words = []
        elif token.type not in _NO_STATEMENT:
            first = first if words else token.start[0]
            words.append(token.string)
