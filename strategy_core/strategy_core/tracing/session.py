"""Decides what in a traced process is a step, and hands it to the recording.

Every method that the hooks call is guarded: an error in it ends the recording, never the program.
`detector.py` has the rule for custom loops.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from strategy_core.tracing.calls import Call, Count, Fetched, OfThread, Threads
from strategy_core.tracing.children import (
    claim_worker,
    is_unrecorded_child,
    report_unrecorded,
)
from strategy_core.tracing.faults import Faults, guarded
from strategy_core.tracing.settings import Settings
from strategy_core.tracing.units import Unit, Units

if TYPE_CHECKING:
    from types import FrameType

    from strategy_core.recorder.stack_sampler import StackSampler
    from strategy_core.tracing.first_graphs import FirstGraphs
    from strategy_core.tracing.recording import Recording
    from strategy_profiles.run.layout import WorkerFolder

MOST_WARM_UPS = 3
"""A thread that does more steps than these trains, and is not only warming functions up."""
FEWEST_INSTEAD = 20
"""Steps of other threads after a warm-up, with none of the recorded thread, from which on the
thread that does the next one is recorded instead."""


class Session:
    """One traced process."""

    def __init__(self, settings: Settings, faults: Faults) -> None:
        self.settings = settings
        self.faults = faults
        self.units = Units()
        self.threads = Threads()
        self.open_calls: list[Call] = []
        """Of all threads: a replica's thread has no call of its own."""
        self._fetched: dict[int, Fetched] = {}
        """Batches since the last call, by iterator."""
        self.recording: Recording | None = None
        """The recording, once a step was found."""
        self._owner: threading.Thread | None = None
        """The thread whose steps are recorded."""
        self.fit: weakref.ref[Any] | None = None
        """Keras's list of callbacks while `fit`, `evaluate` or `predict` runs."""
        self.worker_record: WorkerFolder | None = None
        """The folder of the cluster's worker that this process is, once it has claimed it."""
        self.num_elsewhere = 0
        """Steps in other threads."""
        self._num_instead = 0
        """Those since the last step of the thread that is recorded."""
        self.num_eager_gradients = 0
        self.when_recording: Callable[[], None] = lambda: None
        """Called once the recording has begun."""
        self.is_idle = False
        """Whether the program is watched, and not recorded: a notebook between recorded cells."""
        self.leaves_out_next = False
        """Whether the next call may use a batch that was taken, unseen, while the session was idle.

        Without its batch the size of the segment's batches would be unknown.
        """
        self.has_scheduled = False
        """Whether `num_scheduled` is above 0. An attribute: it is asked for each batch."""
        self.num_idle_steps = 0
        """Steps that were not recorded because the session was idle."""
        self.is_due: Callable[[Recording], bool] | None = None
        """Whether the recording ends with the step that is done. None: with the program."""
        self.left: Recording | None = None
        """The recording that ended so, which another thread closes."""
        self.turn: threading.RLock | None = None
        """Held while this object is used, if another thread may end the recording."""
        self._graphs: FirstGraphs | None = None
        """Graphs for later recordings, if there may be some."""
        self.keeps_graphs = False
        """Whether there are such graphs. An attribute: it is asked in each step."""
        self._is_over = False
        self.has_other_steps = False
        """Whether it trains by functions or Keras's `fit`: eager gradients are then not steps."""
        self._is_profiled = False
        """Whether the program's own profiler is on."""
        self._is_graph_traced = False
        """Whether the program's own `tf.summary.trace_on` is on."""
        self.own_record: str | None = None
        """The run folder into which the program records itself."""
        self.stacks: StackSampler | None = None
        """Samples the program from the import of TensorFlow on."""
        self.evaluations: dict[str, list[int]] = {}
        """How long each call of `evaluate` and `predict` took, in ns, by what is said of it."""

    @property
    def is_off(self) -> bool:
        """Whether nothing more of the program is recorded."""
        return self.faults.is_over

    # -- what happens to the process

    def claim_worker(self) -> WorkerFolder | None:
        """The folder of this process's worker, if the process is one and no other has claimed
        it."""
        self.worker_record = self.worker_record or claim_worker(self.settings)
        return self.worker_record

    def safely(self, act: Callable[[], Any]) -> None:
        """Run code of the lab's own, if the recording still works."""
        if self.faults.is_off or self._is_over:
            return
        try:
            act()
        except Exception as error:
            self.faults.tell(error)

    def forked(self) -> None:
        """Continue in a forked child, which must not write into the parent's files."""
        when_recording, graphs = self.when_recording, self._graphs
        self.__init__(self.settings, Faults())  # type: ignore[misc]
        self.when_recording, self._graphs = when_recording, graphs
        self.keeps_graphs = graphs is not None
        if self.settings.waits:
            self.idle()

    def close(self) -> None:
        """Record nothing from now on."""
        self._is_over = self.faults.is_over = True

    def idle(self) -> None:
        """Record nothing until `record_into`.

        Which functions train is seen when they are traced, which a notebook may do in another cell
        than the one that is recorded.
        """
        self.is_idle, self.left = True, self.recording
        self.recording, self._owner = None, None
        self.has_scheduled = False

    def keep_graphs(self, graphs: FirstGraphs) -> None:
        """Collect the graph of each function that trains at its first call."""
        self._graphs, self.keeps_graphs = graphs, True

    def record_into(self, settings: Settings) -> None:
        """Record what comes into another run, with what is known of the program's functions."""
        self.settings, self.faults, self.is_idle = settings, Faults(), False
        self.faults.is_over = self._is_over
        self.left = None
        self.own_record, self.num_elsewhere, self.num_eager_gradients = None, 0, 0
        self._num_instead = 0
        self.evaluations.clear()
        self._fetched.clear()

    # -- calls of functions

    @property
    def this_thread(self) -> OfThread:
        """What the calling thread does at the moment."""
        return self.threads.this_thread

    @property
    def is_in_call(self) -> bool:
        """Whether calls in this thread are parts of another call, or of Keras's `fit`."""
        return self.this_thread.call is not None or self.is_in_fit

    @property
    def is_in_fit(self) -> bool:
        return self.fit is not None and self.fit() is not None

    # A step of a custom loop goes through the next two methods, and `begin_fetch` and `end_fetch`.
    # They guard themselves, because `guarded` would be one more call in each.

    def begin_call(self, unit: Unit) -> Call | None:
        """Before an outermost call, or at the begin of an eager step. None after a fault."""
        if self.faults.is_over:
            return None
        turn = self.turn
        if turn is not None:
            turn.acquire()
        try:
            caller = self.threads.this_thread
            call = Call()
            call.unit, call.caller = unit, caller
            call.start_ns, call.begin_ns = time.time_ns(), time.monotonic_ns()
            skips = self.leaves_out_next and self._skips(unit)
            if self.recording is None and unit.trains and not skips:
                self._begin_recording(call)
            if self.recording is not None:
                if self.recording.step is not None:
                    self.recording.boundary(unit)
                if self.is_due is not None:
                    self.end_if_due()
            unit.num_calls += 1  # not earlier: this call is no part of the step before
            recording = self.recording
            if recording is not None and unit.trains and self._owner is caller.thread:
                recording.enter(call, list(self._fetched.values()))
            if not unit.is_eager:  # an eager step has no end, and other calls may be in it
                caller.call = call
                self.open_calls.append(call)
            return call
        except Exception as error:
            self.faults.tell(error)
            return None
        finally:
            if turn is not None:
                turn.release()

    def _begin_recording(self, call: Call) -> None:
        """Begin a recording with a call of a function that trains, if this thread is to be
        recorded."""
        if self._claim(call.caller.thread):
            begun = self._recorder()
            if not call.unit.is_eager:
                begun.known_before(call.unit)

    def _skips(self, unit: Unit) -> bool:
        if not (self.leaves_out_next and unit.trains):
            return False
        self.leaves_out_next = False
        return not self._fetched

    def end_call(self, call: Call, result: Any, error: BaseException | None) -> None:
        """After an outermost call that returned, or raised."""
        if self.faults.is_over:
            return
        turn = self.turn
        if turn is not None:
            turn.acquire()
        try:
            call.caller.call = None
            self.open_calls.remove(call)
            if call.unit.shared:
                self._look_at_shared(call.unit)
            call.own_examples = call.own_examples or call.unit.undivided
            if self._graphs is not None:
                self.first_call_done(call.unit)
            recording = self.recording
            if recording is None or self._owner is not call.caller.thread:
                self._done_elsewhere(recording, call)
            elif call.unit.trains:
                self._num_instead = 0
                if recording.step is None:  # it turned out to be a step
                    recording.enter(call, list(self._fetched.values()))
                if error is None:
                    recording.call_done(call, result)
                else:
                    recording.drop()
            else:
                if error is None:
                    recording.other_call_done(call)
                recording.leave_ahead()
            self._fetched.clear()
            if self.is_due is not None:
                self.end_if_due()
        except Exception as fault:
            self.faults.tell(fault)
        finally:
            if turn is not None:
                turn.release()

    def _done_elsewhere(self, recording: Recording | None, call: Call) -> None:
        """Count a step that is not recorded. Its thread may be the one that trains: a program may
        warm its functions up in the main thread, and train in others."""
        if not call.unit.trains:
            return
        if recording is None:
            self.num_idle_steps += 1
            return
        self.num_elsewhere += 1
        self._num_instead += 1
        if self._num_instead < FEWEST_INSTEAD or self.is_in_fit or recording.num_scheduled:
            return
        is_in_call = any(each.caller.thread is self._owner for each in self.open_calls)
        if is_in_call or recording.next_step > MOST_WARM_UPS:
            return
        recording.close_step()
        self._record_thread(call.caller.thread)

    def end_if_due(self) -> None:
        """Become idle after the last step of the recording."""
        recording = self.recording
        if recording is None or self.is_due is None:
            return
        if recording.step is None and self.is_due(recording):
            self.idle()

    # -- steps that a ClusterCoordinator is given

    @guarded
    def begin_schedule(self, unit: Unit) -> Call:
        """Before `schedule`, which traces the function."""
        call = Call()
        call.unit, call.caller = unit, self.this_thread
        call.start_ns, call.begin_ns = time.time_ns(), time.monotonic_ns()
        unit.num_calls += 1
        self.this_thread.call = call
        self.open_calls.append(call)
        return call

    @guarded
    def end_schedule(self, call: Call, value: Any) -> None:
        """After `schedule`, which returned a value, or raised."""
        self.this_thread.call = None
        self.open_calls.remove(call)
        if value is None:  # it raised
            return
        if not call.unit.trains and call.unit.num_calls == 1:
            from strategy_core.tracing.assigned import updates_by_itself

            if updates_by_itself(call.unit):
                self._begins_to_train(call)
        recording = self.recording
        if not call.unit.trains or recording is None or not self._is_owner():
            self.num_elsewhere += call.unit.trains
            return
        recording.scheduled(call, list(self._fetched.values()), weakref.ref(value))
        self.has_scheduled = True
        self._fetched.clear()

    @property
    def num_scheduled(self) -> int:
        """Steps that this thread has given to a coordinator and not waited for, if it is the one
        that is recorded."""
        recording = self.recording
        return recording.num_scheduled if recording is not None and self._is_owner() else 0

    @guarded
    def result_fetched(self, value: Any, place: Callable[[], str]) -> None:
        """After the result of a scheduled step has arrived, at a line of the program."""
        if self.num_scheduled and self.recording is not None:
            self.recording.result_fetched(weakref.ref(value), place)
            self.has_scheduled = bool(self.num_scheduled)
            self.end_if_due()

    @guarded
    def end_scheduled(self, *, has_failed: bool) -> None:
        """After `join`: every step that was scheduled is done, or one of them raised."""
        if self.num_scheduled and self.recording is not None:
            self.recording.joined(has_failed=has_failed)
            self.has_scheduled = False
            self.end_if_due()

    def _open_call(self) -> Call | None:
        """The outermost call that this thread is in, or that it runs a replica for. None in an
        eager step, which has no graph."""
        call = self.this_thread.call or (self.open_calls[-1] if self.open_calls else None)
        return None if call is None or call.unit.is_eager else call

    @guarded
    def gradient(self, tape: Any) -> None:
        """`GradientTape.gradient` is about to be called in this thread."""
        call = self._open_call()
        if call is None:
            return
        self._note_variables(call.unit, tape)
        self._look_at_graph(call.unit, is_gradient=True)
        if not call.unit.trains:
            self._begins_to_train(call)

    def _begins_to_train(self, call: Call) -> None:
        call.unit.trains = self.has_other_steps = True
        self.first_call(call.unit)
        if not self._skips(call.unit) and self._claim(call.caller.thread):
            self._recorder().prepare(call.unit, list(self._fetched.values()))

    @guarded
    def tape_in_graph(self, program: FrameType) -> None:
        """A function of the program, of a replica perhaps, begins to record a tape in a trace."""
        call = self._open_call()
        if call is None:
            return
        from strategy_core.tracing.undivided import batch_like

        batch = batch_like(program)
        if batch:
            call.unit.replica_gets(batch)

    @guarded
    def look_at_arguments(self, unit: Unit, arguments: Any) -> None:
        """A function is about to be called for the first time."""
        from strategy_core.tracing.undivided import same_for_all, unlike_on_replicas

        unit.undivided, unit.unlike = same_for_all(arguments), unlike_on_replicas(arguments)

    def _look_at_shared(self, unit: Unit) -> None:
        from strategy_core.tracing.undivided import undivided_examples

        unit.undivided, unit.shared = undivided_examples(unit.shared), ()

    # -- eager steps

    @property
    def may_step_eagerly(self) -> bool:
        """Whether a gradient that is computed now is not a part of another call."""
        is_in_other = self.is_in_call or self.open_calls or self.num_scheduled
        return not self.is_off and not is_in_other

    def begin_eager(self, unit: Unit) -> Call | None:
        """A tape begins to record outside of other calls."""
        call = self.begin_call(unit)
        if call is not None:
            call.fetched = list(self._fetched.values())
        return call

    def eager_gradient(self, call: Call, tape: Any) -> None:
        """The first gradient of an eager step is about to be computed."""
        self._note_variables(call.unit, tape)
        is_new, call.unit.trains = not call.unit.trains, True
        if is_new and not self._skips(call.unit) and self._claim(call.caller.thread):
            self._recorder().prepare(call.unit, call.fetched)

    def eager_part_done(self, call: Call, error: BaseException | None, *, is_update: bool) -> None:
        """A part of an eager step has run: a gradient, or an update of variables.

        The owner of the recording records it. Another thread, or a program that waits to be
        recorded, only counts the step, by its first part.
        """
        self._fetched.clear()
        recording, is_counted = self.recording, call.is_counted
        call.is_counted = True
        if recording is None or not self._is_owner():
            self.num_elsewhere += recording is not None and not is_counted
            self.num_idle_steps += recording is None and not is_counted
        elif error is not None:
            recording.drop()
        else:
            if recording.step is None and not is_counted:
                recording.enter(call, call.fetched)  # it turned out to be a step
            recording.eager_part_done(call, is_update=is_update)

    def _note_variables(self, unit: Unit, tape: Any) -> None:
        if unit.variables is None:
            from strategy_core.tracing.assigned import watched_variables

            unit.variables = watched_variables(tape)

    @guarded
    def assigns(self) -> None:
        """A variable that gradients were computed of is about to get another value."""
        call = self._open_call()
        if call is not None:
            if not call.unit.is_update:  # once, not for each variable: it reads the whole graph
                self._look_for_gradients(call)
            call.unit.is_update = True
        elif self.recording is not None and self._is_owner():
            self.recording.is_assigned = True

    def _look_for_gradients(self, call: Call) -> None:
        """Before variables change in a call: `tf.gradients`, which no hook sees, may have computed
        gradients in its graph, as in programs that were written for TensorFlow 1."""
        if call.unit.trains:
            return
        from strategy_core.tracing.several_steps import has_gradients

        if has_gradients():
            self._look_at_graph(call.unit, is_gradient=True)
            self._begins_to_train(call)

    def first_call(self, owner: Any) -> None:
        """A function that trains is called for the first time."""
        if self._graphs is not None and not self._is_graph_traced:
            self._graphs.begin(owner)

    def first_call_done(self, owner: Any) -> None:
        if self._graphs is not None:
            self._graphs.end(owner)

    @guarded
    def run(self, strategy: Any) -> None:
        """`Strategy.run` is about to be called inside another call."""
        call = self.this_thread.call
        if call is None:
            return
        call.unit.strategy = strategy
        call.unit.runs_replicas = True
        self._look_at_graph(call.unit, is_gradient=False)

    @guarded
    def unit_of_run(
        self, function: Any, strategy: Any, place: Callable[[], str], *, is_graph: bool
    ) -> Unit | None:
        """The unit of a function that `Strategy.run` is called with, outside of other calls, at a
        line of the program."""
        function = getattr(function, "__func__", function)
        unit = None if is_graph else self.units.of_code(function, strategy)
        try:
            unit = unit or self.units.of(function, lambda run: getattr(run, "python_function", run))
        except TypeError:  # without weak references
            return None
        if not is_graph and not unit.run_at:
            unit.run_at = place()
        unit.strategy = strategy
        unit.runs_replicas = True
        return unit

    @guarded
    def applies(self, optimizer: Any) -> None:
        """An optimizer is about to be applied."""
        call = self._open_call()
        if call is not None:
            self._look_for_gradients(call)
            call.unit.applies(optimizer)
            self.first_call(call.unit)
            if call.iterations is None and call.unit.optimizer is optimizer:
                from strategy_core.tracing.several_steps import iterations, outermost_graph

                if outermost_graph() is not None:  # an eager call does one step
                    call.iterations = iterations(optimizer)

    def _look_at_graph(self, unit: Unit, *, is_gradient: bool) -> None:
        from strategy_core.tracing.several_steps import is_in_loop, outermost_graph

        graph = outermost_graph()
        if graph is None:
            return
        if is_gradient == unit.runs_replicas:
            return  # replicas are counted where they are run, gradients only without replicas
        unit.gradient_in(graph)
        unit.may_loop |= is_in_loop() or unit.num_gradients > 1

    # -- batches

    def begin_fetch(self, iterator: Any) -> Fetched | None:
        """Before a batch is taken outside of a call. None after a fault."""
        if self.faults.is_over:  # the program may have looked `__next__` up before
            return None
        turn = self.turn
        if turn is not None:
            turn.acquire()
        try:
            caller = self.threads.this_thread
            caller.is_fetching, caller.eager = True, None
            fetched = Fetched()
            fetched.caller = caller
            fetched.iterator = weakref.ref(iterator)
            fetched.start_ns, fetched.begin_ns = time.time_ns(), time.monotonic_ns()
            if self.recording is None or self._owner is not caller.thread:
                return fetched
            if self.recording.step is not None:
                self.recording.boundary(None)
            if self.is_due is not None:
                self.end_if_due()
            recording = self.recording
            if recording is not None and fetched.iterator in recording.iterators:
                fetched.step = recording.step or recording.recorder.begin_ahead()
                fetched.begin_ns = time.monotonic_ns()  # without the recorder's own time
                if fetched.step.captured:
                    fetched.asking = fetched.step.input()
                    fetched.asking.__enter__()
            return fetched
        except Exception as error:
            self.faults.tell(error)
            return None
        finally:
            if turn is not None:
                turn.release()

    def end_fetch(
        self, fetched: Fetched, batch: Any, count: Count, error: BaseException | None
    ) -> None:
        """After a batch was taken, or there was none. `count` counts the examples in it."""
        if self.faults.is_over:
            return
        turn = self.turn
        if turn is not None:
            turn.acquire()
        try:
            fetched.caller.is_fetching = False
            took_ns = fetched.took_ns = time.monotonic_ns() - fetched.begin_ns
            fetched.num_examples = count(batch)
            step = fetched.step
            if fetched.asking is not None:
                fetched.asking.__exit__(None, None, None)
            elif step is not None:
                step.waited_ns = took_ns + (step.waited_ns or 0)
            if error is None:
                self._fetched[id(fetched.iterator())] = fetched
            elif self.recording is not None and step is not None:
                self.recording.leave_ahead()
        except Exception as fault:
            self.faults.tell(fault)
        finally:
            if turn is not None:
                turn.release()

    # -- the program's own profiler

    @guarded
    def profiler_begins(self) -> None:
        """The program is about to start TensorFlow's profiler, of which a process has one."""
        self._is_profiled = True
        if self.recording is not None:
            self.recording.yield_profiler()

    @guarded
    def profiler_ended(self) -> None:
        self._is_profiled = False
        if self.recording is not None:
            self.recording.take_profiler_back()

    @guarded
    def graph_trace_begins(self) -> None:
        """The program is about to collect graphs, which the runtime gives out once."""
        self._is_graph_traced = True
        if self._graphs is not None:
            self._graphs.abandon()
        if self.recording is not None:
            self.recording.yield_graphs()

    @guarded
    def graph_trace_ended(self) -> None:
        self._is_graph_traced = False
        if self.recording is not None:
            self.recording.take_graphs_back()

    # -- the program's own recorder

    @guarded
    def own_recorder_begins(self, path: str) -> None:
        """The program is about to record itself with the lab: leave its steps to it."""
        if self.is_idle:
            return
        self.own_record, self.faults.is_over = path, True
        if self.recording is not None:
            self.recording.leave_to_program(path)

    # -- Keras

    @guarded
    def fit_begins(self, callbacks: Any) -> None:
        self.fit = weakref.ref(callbacks)

    @guarded
    def fit_ends(self) -> None:
        self.fit = None

    @guarded
    def evaluated(self, name: str, took_ns: int) -> None:
        """A call of Keras's `evaluate` or `predict` has ended."""
        self.evaluations.setdefault(name, []).append(took_ns)

    @guarded
    def recording_of_fit(self, callbacks: Any) -> Recording | None:
        """The recording for a `fit` in this thread; None if another thread's steps are recorded.

        None as well if the program is about to record itself.
        """
        self.has_other_steps = True
        for each in callbacks.callbacks:  # no generator: each part of one is a call, in every step
            if type(each).__name__ == "RecorderCallback":
                return None
        if not self._claim(self.this_thread.thread):
            return None
        return self.recording or self._recorder()

    # -- the recording

    def _is_owner(self) -> bool:
        return self._owner is self.this_thread.thread

    def _claim(self, thread: threading.Thread) -> bool:
        """Return whether to record this thread: the first one that trains, until it ends, or
        another one trains instead (`_done_elsewhere`).

        A child process without a TF_CONFIG is not recorded: it reports itself and closes.
        """
        if self.is_idle:
            return False
        if self.recording is None and is_unrecorded_child(self.settings):
            report_unrecorded(self.settings)
            self.close()
            return False
        if self._owner is not thread and (self._owner is None or not self._owner.is_alive()):
            self._record_thread(thread)
        return self._owner is thread

    def _record_thread(self, thread: threading.Thread) -> None:
        self._owner = thread
        if self.stacks is not None and thread.ident is not None:
            self.stacks.watch(thread.ident)

    def _recorder(self) -> Recording:
        if self.recording is None:
            from strategy_core.tracing.recording import Recording

            self.recording = Recording(self.settings, self._graphs, self.stacks)
            self.when_recording()
            if self._is_profiled:
                self.recording.yield_profiler()
            if self._is_graph_traced:
                self.recording.yield_graphs()
        return self.recording
