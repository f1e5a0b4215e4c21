"""Who of several hangs: clock, processor time and the answers in their logs are handed in."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from strategy_core.launcher.hang_diagnosis import ANSWER_S
from strategy_core.processes import stack_probe
from tests.strategy_core.launcher.fake_group import FakeGroup

TIMEOUT_S = 10.0
_OTHER_THREAD = (
    "Thread 0x1 (most recent call first):\n"
    '  File "/usr/lib/python3.11/threading.py", line 1 in _bootstrap\n'
)
_MAIN = "Current thread 0x2 (most recent call first):\n"
_END = '  File "<frozen runpy>", line 198 in _run_module_as_main\n'
IN_STEP = (
    _MAIN
    + '  File "/x/site-packages/tensorflow/python/eager/execute.py", line 53 in quick_execute\n'
    '  File "/y/strategy_core/training/custom_loop.py", line 70 in run_step\n'
)
IN_INPUT = (
    _MAIN
    + '  File "/x/site-packages/tensorflow/python/distribute/input_lib.py", line 5 in __next__\n'
    '  File "/y/strategy_core/training/custom_loop.py", line 60 in run_step\n'
)


@pytest.mark.parametrize("loop", ["custom_loop", "keras_fit"])
def test_a_stack_in_a_training_loop_counts_as_in_a_step(loop: str) -> None:
    """The probe matches the loops' file names: this fails when one is renamed."""
    spec = find_spec(f"strategy_core.training.{loop}")
    assert spec is not None
    assert spec.origin is not None
    stack = IN_STEP.replace("/y/strategy_core/training/custom_loop.py", spec.origin) + _END
    sample = stack_probe.read(stack)
    assert sample is not None
    assert sample.is_in_step


class ThreeProcesses(FakeGroup):
    """A group of three processes that do not answer by themselves."""

    def __init__(self, strategy: str, folder: Path) -> None:
        super().__init__(strategy, folder, size=3)
        for process in self.processes:
            process.ready = {"inventory": {}}

    def answers(self, number: int, text: str) -> None:
        with (self.group.workers[number].folder.path / "stderr.log").open("a") as file:
            file.write(text)

    def look(self, now: float) -> list[int]:
        """Who has been killed by then."""
        self.group.end_if_hung(now, TIMEOUT_S)
        return [number for number, process in enumerate(self.processes) if process.exit_code]

    def why(self, number: int) -> str:
        return self.group.workers[number].kill_note


@pytest.fixture(autouse=True)
def asked_pids(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    pids: list[int] = []
    monkeypatch.setattr(stack_probe, "request_stacks", pids.append)
    return pids


@pytest.fixture
def synchronous(tmp_path: Path) -> ThreeProcesses:
    processes = ThreeProcesses("multi-worker-mirrored", tmp_path)
    for number in range(3):
        processes.happens(number, 0.0, kind="step", step=0)
    return processes


def test_the_one_that_others_wait_for_is_named(
    synchronous: ThreeProcesses, asked_pids: list[int]
) -> None:
    assert synchronous.look(10.1) == []
    assert asked_pids == [0, 1, 2]
    for number, text in enumerate((IN_STEP, IN_INPUT, IN_STEP)):
        synchronous.answers(number, _OTHER_THREAD + text + _END)
    assert synchronous.look(10.2) == [1]
    assert synchronous.why(1) == (
        "No event for 10 s; its process is waiting; it waits for its input."
    )


def test_answers_are_waited_for_until_they_are_whole(synchronous: ThreeProcesses) -> None:
    synchronous.look(10.1)
    for number in (0, 2):
        synchronous.answers(number, _OTHER_THREAD + IN_STEP + _END)
    assert synchronous.look(10.2) == []
    synchronous.answers(1, _OTHER_THREAD)
    assert synchronous.look(12.0) == []
    synchronous.answers(1, IN_INPUT)
    assert synchronous.look(14.0) == []
    synchronous.answers(1, _END)
    assert synchronous.look(14.1) == [1]


def test_answers_are_waited_for_up_to_a_limit(synchronous: ThreeProcesses) -> None:
    synchronous.look(10.1)
    synchronous.answers(0, _OTHER_THREAD + IN_STEP + _END)
    synchronous.answers(1, _OTHER_THREAD + IN_STEP + _END)
    assert synchronous.look(10.1 + ANSWER_S) == []
    assert synchronous.look(10.2 + ANSWER_S) == [2]


def test_an_earlier_answer_does_not_count(synchronous: ThreeProcesses) -> None:
    for number in range(3):
        synchronous.answers(number, _OTHER_THREAD + IN_INPUT + _END)
    synchronous.look(10.1)
    assert synchronous.look(10.2) == []


def test_a_process_that_gives_a_sign_of_life_meanwhile_is_not_hung(
    synchronous: ThreeProcesses,
) -> None:
    synchronous.look(10.1)
    for number in range(3):
        synchronous.happens(number, 10.2, kind="step", step=1)
    assert synchronous.look(10.1 + 2 * ANSWER_S) == []


def test_a_process_that_waits_for_one_that_still_imports_is_not_hung(tmp_path: Path) -> None:
    """A worker is ready long before its peer, on a busy machine."""
    group = ThreeProcesses("multi-worker-mirrored", tmp_path)
    group.processes[2].ready = None
    for number in (0, 1):
        group.happens(number, 0.0, kind="worker_started")
    for now in (10.1, 10.2):
        assert group.look(now) == []
    for number in (0, 1):
        group.answers(number, _OTHER_THREAD + IN_STEP + _END)
    for tenth in range(103, 1200):
        assert group.look(tenth / 10) == []
    for tenth in range(1200, 1300):
        killed = group.look(tenth / 10)
    assert killed == [2], "but an import has its limit too, and one is enough"


def test_a_coordinator_is_not_hung_while_its_only_worker_comes_back(tmp_path: Path) -> None:
    group = ThreeProcesses("parameter-server", tmp_path)
    group.happens(0, 0.0, kind="step", step=4)
    for number in (1, 2):
        group.happens(number, 0.0, kind="worker_started")
    group.says(2, 0.0, {"done": True})
    for now in range(1, 60):
        group.happens(2, now, kind="links", segment=None, step=None, links=[])
        group.processes[1].cpu_s = float(now)
        assert group.look(float(now)) == []
    group.says(1, 59.5, {"done": True})
    for now in range(60, 75):
        for number in (1, 2):
            group.happens(number, now, kind="links", segment=None, step=None, links=[])
        killed = group.look(now) or group.look(now + 0.1)
        group.answers(0, _OTHER_THREAD + IN_STEP + _END)
    assert killed == [0], "who serves and says so is not to blame for a coordinator's silence"


IN_BROADCAST = (
    _MAIN
    + '  File "/x/site-packages/tensorflow/python/ops/gen_collective_ops.py", line 9 in bcast\n'
    '  File "/y/strategy_core/model.py", line 40 in build_model\n'
)
IN_OWN_CODE = _MAIN + '  File "/y/workload.py", line 3 in load\n'


@pytest.mark.parametrize("waiting", [IN_STEP, IN_BROADCAST])
def test_on_a_host_of_its_own_a_worker_that_waits_for_its_peers_is_not_hung(
    waiting: str, tmp_path: Path
) -> None:
    group = part_of_a_group(tmp_path)
    (alone,) = group.group.workers
    for round_ in range(1, 9):
        now = round_ * (TIMEOUT_S + 0.2)
        assert group.look(now) == []
        group.answers(0, _OTHER_THREAD + waiting + _END)
        assert group.look(now + 0.1) == []
        assert alone.waits_since == 0.0, "since its last event, however often it was asked"
    group.happens(0, now, kind="step", step=1)
    assert alone.waits_since is None


@pytest.mark.parametrize("elsewhere", [IN_OWN_CODE, IN_INPUT])
def test_on_a_host_of_its_own_a_worker_that_is_stuck_elsewhere_is_hung(
    elsewhere: str, tmp_path: Path
) -> None:
    group = part_of_a_group(tmp_path)
    group.look(TIMEOUT_S + 0.1)
    group.answers(0, _OTHER_THREAD + elsewhere + _END)
    assert group.look(TIMEOUT_S + 0.2) == [0]


def test_on_a_host_of_its_own_a_stopped_worker_is_soon_hung(tmp_path: Path) -> None:
    group = part_of_a_group(tmp_path)
    group.processes[0].doing = "stopped"
    assert group.look(1.1) == []
    assert group.look(4.2) == []
    assert group.look(4.3) == [0]


def part_of_a_group(folder: Path) -> ThreeProcesses:
    """One worker of three: its peers have launchers on hosts of their own."""
    processes = ThreeProcesses("multi-worker-mirrored", folder)
    processes.group.workers = processes.group.workers[:1]
    processes.group.has_remote_peers = True
    processes.happens(0, 0.0, kind="step", step=0)
    return processes
