"""Whatever workers, users and the operating system do: a launcher reaches no illegal state."""

from __future__ import annotations

import queue
import shutil
import tempfile
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from strategy_core.launcher import group_state, run_state, worker_state
from strategy_core.launcher.group_state import GroupEvent, GroupState
from strategy_core.launcher.inbox import Inbox, KillProcess, KillRun
from strategy_core.launcher.launch_log import LaunchLog
from strategy_core.launcher.run_control import RunControl
from strategy_core.launcher.run_state import RunEvent, RunState
from strategy_core.launcher.state_machine import IllegalTransitionError, StateMachine
from strategy_core.launcher.worker_state import GONE, WorkerEvent, WorkerState
from strategy_core.processes import protocol
from strategy_profiles.run.event_files import read_sources
from strategy_profiles.run.events import Note
from strategy_profiles.spec.run_spec import parse_spec
from tests.strategy_core.launcher.simulated_workers import SimulatedHost, SimulatedPool

TABLES: dict[str, tuple[type[StrEnum], type[StrEnum], Any, set[Any]]] = {
    "worker": (WorkerState, WorkerEvent, worker_state.TRANSITIONS, set(GONE)),
    "run": (RunState, RunEvent, run_state.TRANSITIONS, {RunState.ENDED}),
    "group": (GroupState, GroupEvent, group_state.TRANSITIONS, {GroupState.ENDING}),
}


@pytest.mark.parametrize("name", TABLES)
def test_every_state_can_be_reached_and_leads_to_an_end(name: str) -> None:
    states, events, table, ends = TABLES[name]
    after = {state: {table[at] for at in table if at[0] is state} for state in states}
    reached = reachable(next(iter(states)), after)
    assert reached == set(states)
    assert {event for _, event in table} == set(events)
    for state in states:
        assert reachable(state, after) & ends
    assert all(after[end] <= ends for end in ends)


def reachable(state: Any, after: dict[Any, set[Any]]) -> set[Any]:
    states: set[Any] = set()
    new = {state}
    while new:
        states |= new
        new = {later for each in new for later in after[each]} - states
    return states


def test_an_illegal_transition_is_an_error_in_tests() -> None:
    machine = StateMachine("the run", RunState.ENDED, run_state.TRANSITIONS)
    with pytest.raises(IllegalTransitionError, match="the run is ended, which excludes opened"):
        machine.advance(RunEvent.OPENED)


def test_in_production_it_is_a_note_of_the_run_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(StateMachine, "is_strict", False)
    machine = StateMachine("the run", RunState.ENDED, run_state.TRANSITIONS)
    assert not machine.advance(RunEvent.OPENED)
    assert machine.state is RunState.ENDED
    log = LaunchLog(tmp_path)
    for _ in range(2):
        log.illegal_transitions([machine])
    log.close()
    notes = [note.message for source in read_sources(tmp_path) for note in source.of_kind(Note)]
    assert notes == ["Illegal transition: the run is ended, which excludes opened."]


SPECS = {
    "one process": {"strategy": "default", "steps": 9},
    "synchronous": {"strategy": "multi-worker-mirrored", "workers": 2, "steps": 9},
    "served": {
        "strategy": "parameter-server",
        "workers": 2,
        "parameter_servers": 1,
        "steps": 9,
    },
}


STOP, RECONFIGURE, KILL = protocol.Stop(1), protocol.Reconfigure(2, {}), KillRun()
CLOSE = protocol.Stop(3, "The lab was stopped.")


class AnyRun(RuleBasedStateMachine):
    """Rules happen in any order: what workers do, what users request, and time."""

    spec: dict[str, Any]

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        (self.folder / "checkpoint").mkdir()
        self.inbox: Inbox = queue.Queue()
        self.pool = SimulatedPool()
        self.now = time.monotonic()
        spec = parse_spec({**self.spec, "cluster": {"restarts": 1}})
        self.control = RunControl(spec, self.folder, self.pool, self.inbox, SimulatedHost(), 20.0)

    @property
    def is_over(self) -> bool:
        return self.control.exit_reason is not None

    @precondition(lambda self: not self.is_over)
    @rule(choices=st.lists(st.integers(0, 50), min_size=4, max_size=12), is_prompt=st.booleans())
    def workers_go_on(self, choices: list[int], is_prompt: bool) -> None:
        for choice in choices:
            actions = [action for worker in self.pool.workers for action in worker.actions()]
            if actions:
                actions[choice % len(actions)]()
            if is_prompt:
                self.messages_arrive(100)

    @precondition(lambda self: not self.is_over)
    @rule(choice=st.integers(0, 50))
    def one_fails_or_is_killed(self, choice: int) -> None:
        accidents = [action for worker in self.pool.workers for action in worker.accidents()]
        if accidents:
            accidents[choice % len(accidents)]()

    @precondition(lambda self: not self.is_over)
    @rule(number=st.integers(1, 9))
    def messages_arrive(self, number: int) -> None:
        while number and not self.inbox.empty() and not self.is_over:
            self.control.take(*self.inbox.get(), self.now)
            number -= 1

    @precondition(lambda self: not self.is_over)
    @rule(seconds=st.sampled_from([0.1, 0.1, 0.1, 0.1, 1.5, 5.0, 25.0, 70.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.control.check(self.now)

    @precondition(lambda self: not self.is_over)
    @rule(
        request=st.sampled_from([STOP, RECONFIGURE, STOP, RECONFIGURE, KillProcess(1), KILL, CLOSE])
    )
    def a_user_requests(self, request: Any) -> None:
        self.control.take(None, request, self.now)

    @precondition(lambda self: self.is_over)
    @rule()
    def time_passes_after_the_end(self) -> None:
        self.control.check(self.now + 100.0)

    @invariant()
    def state_and_data_agree(self) -> None:
        control = self.control
        state = control.machine.state
        assert (state is RunState.ENDED) == (control.exit_reason is not None)
        if state is not RunState.ENDED:
            assert (state is RunState.STOPPING) == (control.stop_by is not None)
            if state is not RunState.STOPPING:
                assert (state is RunState.CHANGING) == (control.candidate is not None)
        for worker in self.workers():
            assert (worker.ended_in is not None) == worker.is_gone
            if worker.state is WorkerState.ENDED:
                assert worker.exit_reason().verdict in ("finished", "stopped", "replaced")

    @invariant()
    def each_process_has_a_folder_of_its_own(self) -> None:
        begun = [worker.folder for worker in self.pool.workers if worker.has_begun]
        assert len(set(begun)) == len(begun)

    def workers(self) -> Iterator[Any]:
        return (worker for group in self.control.groups for worker in group.workers)

    def teardown(self) -> None:
        """Killed, every run ends."""
        for _ in range(100):
            if self.is_over:
                break
            self.control.take(None, KillRun(), self.now)
            for worker in self.pool.workers:
                for action in worker.actions()[:1]:
                    action()
            self.messages_arrive(100)
        assert self.is_over
        self.control.close()
        shutil.rmtree(self.folder)


def test_a_restart_during_a_change_leaves_the_next_change_its_generation() -> None:
    """A worker that was restarted alone may have a later generation than the group after it."""
    run = type("Run", (AnyRun,), {"spec": SPECS["served"]})()

    def do(action: str) -> None:
        """Have the leader come to it, and the others do what is asked of them."""
        leader = next(w for w in reversed(run.pool.workers) if w.command.worker == 0)
        for _ in range(100):
            action_of_name = {each.__name__: each for each in leader.actions()}
            if action in action_of_name:
                action_of_name[action]()
                break
            for worker in run.pool.workers:
                for each in worker.actions()[:1]:
                    each()
            run.messages_arrive(100)
        run.messages_arrive(100)

    do("_request_replacement")
    next(worker for worker in run.pool.workers if worker.command.worker == 2).kill()
    do("_open_segment")
    do("_request_replacement")
    do("_open_segment")
    run.each_process_has_a_folder_of_its_own()
    assert [w.command.generation for w in run.pool.workers if w.command.worker == 2] == [0, 1, 2, 3]
    run.teardown()


@pytest.mark.slow
@pytest.mark.parametrize("kind", SPECS)
def test_no_order_of_events_leads_to_an_illegal_state(kind: str) -> None:
    machine = type("Run", (AnyRun,), {"spec": SPECS[kind]})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=60, stateful_step_count=30, deadline=None)
    )
