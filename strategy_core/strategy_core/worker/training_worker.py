"""A worker's run: open it, do its steps, obey between two steps, close the books.

A change counts as made when its first step is done; until then it may still be refused.
"""

from __future__ import annotations

import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, NoReturn

import msgspec
import tensorflow as tf

from strategy_core.cluster import config_check
from strategy_core.cluster.barrier import leave_together, share
from strategy_core.cluster.command_agreement import CommandAgreement, SharedCommands
from strategy_core.cluster.lost_peer import is_about_lost_peer
from strategy_core.cluster.membership import Membership
from strategy_core.cluster.network import isolation_hint
from strategy_core.cluster.tasks import Cluster
from strategy_core.cluster.telemetry.clock import join_clock
from strategy_core.cluster.telemetry.link_meter import LinkMeter
from strategy_core.planning import reconfiguration, validation
from strategy_core.planning.gpu_allocation import LocalRank
from strategy_core.planning.reconfiguration import Decision, changed_spec, ended_delays
from strategy_core.processes import parent_death, protocol
from strategy_core.processes.command_reader import CommandReader
from strategy_core.processes.import_path import import_as_script
from strategy_core.recorder import converter
from strategy_core.recorder.recorder import Recorder
from strategy_core.runtime import card_locks, gc_control, logical_devices
from strategy_core.runtime.environment import environment
from strategy_core.runtime.error_message import cause
from strategy_core.runtime.error_place import place_of_error
from strategy_core.training.trainer import Training
from strategy_profiles.errors import LabError, RunFolderError
from strategy_profiles.run.events import CommandAnswered, Failed, FinishedStatus, Note
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.spec.run_spec import RunSpec, parse_spec

Say = Callable[[dict[str, Any]], None]
_CROSSED = "Another change needed fresh processes, which have taken over. Make this change again."
_TO_GO_ON = "To go on from its saved state, start the lab again and continue the run."
_SCRIPTED = 0
"""Number of an answer to a change that the spec planned."""


def warm_up() -> None:
    """Starts what every run needs sooner or later, while nothing waits for it."""
    converter.prepare()


class _RunEnded(Exception):  # noqa: N818 - not an error
    """The run ends here, with this exit code."""

    def __init__(self, code: int) -> None:
        self.code = code


class WorkerRun:
    """The run of one `Run` command."""

    def __init__(self, command: protocol.Run, commands: CommandReader, say: Say) -> None:
        self._commands = commands
        self._say = say
        self._asked = protocol.Replacement(**command.asked) if command.asked else None
        self._run = Path(command.run)
        self._folder = worker_folder(self._run, command.worker, command.generation)
        parent_death.print_into(self._folder.path)
        if command.has_own_launcher:
            # Engines that end a job signal every process of it: the launcher hears it, and stops.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._spec = parse_spec(command.spec)
        if self._spec.workload.endswith(".py"):
            import_as_script(Path(self._spec.workload).expanduser())
        self._recorder = Recorder(self._folder, capture=self._spec.capture)
        self._member = _membership(command)
        if self._member is not None:
            self._recorder.links = LinkMeter(self._member.cluster, self._member.process)
            self._recorder.clock = join_clock(self._member.cluster, self._member.process)
            self._recorder.profilers = self._member.cluster.profilers
        self._agreement = self._agree()
        self._local_rank = self._member.local_rank if self._member is not None else None
        resume = Path(command.resume) if command.resume else None
        is_same_run = resume is not None and self._run in resume.resolve().parents
        self._continues = resume.parents[1].name if resume and not is_same_run else None
        """Name of the run whose state this one starts from."""
        self._training = Training(
            self._spec, self._recorder, resume, self._agreement, is_same_run=is_same_run
        )
        self._has_opened = False
        self._scripted_up_to = -1
        self._batch: deque[protocol.Command] = deque()
        """Commands to obey before the next step."""

    def run(self) -> int:
        """The whole run; returns the exit code of the process."""
        try:
            # The launcher has validated all else. Without a spare worker it knew no devices.
            validation.check_devices(
                self._spec, logical_devices.inventory(), self._lasting_local_rank
            )
            logical_devices.create_logical_devices(self._spec, self._local_rank)
            card_locks.take(logical_devices.visible_gpus(), self._run)
            self._open()
            self._do_steps()
            self._close("finished")
        except _RunEnded as over:
            return over.code
        except (MemoryError, tf.errors.ResourceExhaustedError) as error:
            self._fail(f"The worker ran out of memory: {cause(error)}")
            return protocol.EXIT_OUT_OF_MEMORY
        except LabError as error:
            self._fail(str(error))
            is_refusal = not self._has_opened and not isinstance(error, RunFolderError)
            return protocol.EXIT_REFUSED if is_refusal else protocol.EXIT_FAILED
        except Exception as error:
            self._fail(f"{type(error).__name__}: {cause(error)}", self._follows(error))
            return protocol.EXIT_FAILED
        return protocol.EXIT_DONE

    def _open(self) -> None:
        if self._member is None:
            self._recorder.write(environment())
            self._training.open()
        else:
            self._member.join(self._spec)
            self._training.open(self._joined)
            self._recorder.write(environment())  # starts the runtime: after the cluster is joined
        self._has_opened = True
        if self._continues is not None and self._is_leader:
            text = f"Continues {self._continues} with its weights and optimizer state"
            self._recorder.write(Note("info", f"{text} from step {self._training.step}."))

    def _joined(self, strategy: tf.distribute.Strategy) -> None:
        """All processes have joined. Raises LabError if their configurations differ."""
        self._say({"joined": True})
        if self._is_multi_host and self._agreement is not None and self._member is not None:
            own = config_check.asked_here(self._spec, tf.__version__)
            said = share(strategy, self._member.process, self._member.cluster.num_workers, own)
            try:
                config_check.check_same(said)
            except LabError:
                leave_together(strategy)  # who left now might fail those who have yet to hear it
                raise

    def _do_steps(self) -> None:
        training = self._training
        self._first_step()
        while training.spec.steps is None or training.step < training.spec.steps:
            at = training.step
            self._batch.extend(self._to_obey())
            while self._batch:
                self._obey(self._batch.popleft())
            self._do_scripted_changes()
            self._save_if_due()
            if training.step == at:  # else steps that were on the way were done meanwhile
                training.run_step()

    def _save_if_due(self) -> None:
        every = self._training.spec.cluster.checkpoint_every_steps
        if every and self._training.step % every == 0:
            self._training.save(self._folder.checkpoint if self._is_leader else None)

    def _to_obey(self) -> Sequence[protocol.Command]:
        """Commands to obey before the next step: in a cluster those that every worker has."""
        if self._agreement is None:
            return self._commands.pending()
        self._agreement.receive(self._commands.pending())
        return self._agreement.agreed()

    def _first_step(self) -> None:
        """Report the first finished step to the launcher: this worker can do the run."""
        self._training.run_step()
        self._say({"opened": True, "step": self._training.step})
        if not self._is_multi_host:  # the launchers of its peers hear of its end, and act
            self._commands.stop_with_launcher()
        if self._asked is not None and self._is_leader:
            took_ms = (time.time_ns() - self._asked.asked_ns) / 1e6
            self._answer(self._asked.number, "applied", None, took_ms)

    def _obey(self, command: protocol.Command) -> None:
        if isinstance(command, protocol.Stop):
            self._stop(command)
        elif isinstance(command, protocol.Reconfigure):
            self._reconfigure(command.number, command.changes)

    def _stop(self, command: protocol.Stop) -> None:
        self._training.settle()
        if self._is_leader:
            self._recorder.write(
                CommandAnswered(command.number, command.command, "applied", self._training.step)
            )
        self._close("stopped", command.why)
        raise _RunEnded(protocol.EXIT_DONE)

    def _close(self, status: FinishedStatus, why: str | None = None) -> None:
        """Save the state, from which another run can continue, and write the last records. A
        worker that left now might end a peer that is still in its last step: in a cluster all wait
        until all are done."""
        is_saved = self._save("No run can continue from the end of this one")
        self._recorder.close(status, f"{why} {_TO_GO_ON}" if why and is_saved else why)
        if self._member is not None:
            is_orphaned = self._commands.is_orphaned
            if (self._is_multi_host or is_orphaned) and self._agreement is not None:
                self._training.part()  # no launcher sees all of them
            self._say({"done": True})
            while not (is_orphaned or isinstance(self._commands.next(), protocol.Leave)):
                pass

    def _save(self, otherwise: str) -> bool:
        """Save the state, and return whether it is saved. What prevents it does not make the run a
        failed one: a note says it after `otherwise`."""
        try:
            self._training.save(self._folder.checkpoint if self._is_leader else None)
        except (LabError, MemoryError) as error:
            self._recorder.write(Note("warning", f"{otherwise}: {error}"))
            return False
        return True

    def _do_scripted_changes(self) -> None:
        if not self._training.spec.reconfigure:
            return
        step = self._training.step
        if step <= self._scripted_up_to:
            return
        self._scripted_up_to = step
        planned = [p for p in self._training.spec.reconfigure if p.step == step]
        changes = {path: value for p in planned for path, value in p.changes.items()}
        if changes:
            self._reconfigure(_SCRIPTED, changes)

    def _reconfigure(self, number: int, changes: Mapping[str, Any]) -> None:
        """Make the change and do its first step, here or in a fresh worker; else stay as it was."""
        began_ns, began = time.time_ns(), time.monotonic()
        try:
            spec = changed_spec(self._training.spec, changes, self._training.step)
            self._check(spec)
            for text in ended_delays(self._training.spec, spec):
                self._recorder.write(Note("info", text))
            decision = self._decide(spec)
            if decision.how == "nothing":
                self._answer(number, "applied", f"Nothing changed: {decision.why}.", 0.0)
                return
            if decision.how == "fresh-worker":
                if self._is_multi_host:
                    self._refuse_with_checkpoint(decision)
                self._hand_over(number, spec, began_ns, decision)
                return
            # To build and trace takes up to a minute on a busy machine. A Stop waits 20 s for it,
            # and then the process is killed.
            self._save("No run can continue from here if this change does not end")
            with gc_control.postponed():
                self._training.reconfigure(spec)
                self._training.run_step()
        except LabError as error:
            self._answer(number, "rejected", str(error), (time.monotonic() - began) * 1e3)
            return
        self._answer(number, "applied", None, (time.monotonic() - began) * 1e3)

    def _check(self, spec: RunSpec) -> None:
        """Raise LabError where this process, or one on another host, cannot do as `spec` says."""
        refusal = None
        try:
            validation.check(spec, logical_devices.inventory(), self._lasting_local_rank)
        except LabError as error:
            refusal = error
        if self._is_multi_host and self._agreement is not None:
            said = self._share(str(refusal or ""))
            refusals = [f"worker {number}: {text}" for number, text in enumerate(said) if text]
            if refusals and refusal is None:
                refusal = LabError(
                    f"The change needs all workers, and one cannot make it: {refusals[0]}"
                )
        if refusal is not None:
            raise refusal

    def _refuse_with_checkpoint(self, decision: Decision) -> NoReturn:
        """Save a checkpoint for new processes, which only the engine of these can start."""
        self._training.save(self._folder.checkpoint if self._is_leader else None)
        raise LabError(
            reconfiguration.not_on_hosts(decision.why),
            advice=f"{reconfiguration.HOSTS_ADVICE} {self._folder.checkpoint}, which holds the "
            f"state after step {self._training.step}",
        )

    def _hand_over(self, number: int, spec: RunSpec, began_ns: int, decision: Decision) -> None:
        """Let a fresh worker go on; returns only if none can. Raises LabError."""
        if self._is_leader:
            why = f"The change is made in a new worker: {decision.why}"
            self._recorder.write(Note("info", why))
        self._training.save(self._folder.checkpoint if self._is_leader else None)
        request = protocol.Replacement(
            number,
            self._training.step,
            spec.to_json(),
            str(self._folder.checkpoint),
            began_ns,
        )
        if self._is_leader:
            self._say({"replace": asdict(request)})
        # The launcher holds commands while a fresh group opens, but one may have crossed with this
        # request or come in its batch. Dropping it would leave its sender without an answer.
        crossed: list[protocol.Command] = []
        while True:
            command = self._commands.next()
            if isinstance(command, protocol.Leave):
                for each in (*self._batch, *crossed):
                    if isinstance(each, protocol.Reconfigure):  # the fresh group has a Stop, too
                        self._answer(each.number, "rejected", _CROSSED, 0.0)
                self._recorder.close("replaced")
                raise _RunEnded(protocol.EXIT_DONE)
            if isinstance(command, protocol.Stop):
                self._stop(command)
            if isinstance(command, protocol.Resume):
                self._commands.put_back(crossed)
                raise LabError(command.message)
            crossed.append(command)

    def _decide(self, spec: RunSpec) -> Decision:
        """How this process, and those that it is one of, make the change to `spec`."""
        worker = reconfiguration.RunningWorker(
            logical_devices.created(),
            len(tf.config.get_visible_devices("GPU")),
            self._member is not None,
            self._training.num_traced,
            logical_devices.planned(self._training.spec),
        )
        planned = logical_devices.planned(spec)
        return reconfiguration.decide(self._training.spec, spec, planned, worker)

    @property
    def _lasting_local_rank(self) -> LocalRank | None:
        """The local rank if it lasts for the run: a single launcher may change the group's size."""
        return self._local_rank if self._is_multi_host else None

    @property
    def _is_multi_host(self) -> bool:
        """Whether the other processes of this run have launchers of their own."""
        return self._member is not None and self._member.has_own_launcher

    @property
    def _is_leader(self) -> bool:
        return self._member is None or self._member.is_leader

    def _follows(self, error: Exception) -> bool:
        """Whether the error only tells that a peer is gone, and a peer knows more."""
        return self._member is not None and is_about_lost_peer(error)

    def _agree(self) -> CommandAgreement | None:
        """How this worker and its peers come to the same commands; None where it alone decides."""
        member = self._member
        if member is None or member.cluster.has_coordinator:  # the coordinator alone commands
            return None
        if member.has_own_launcher:
            return SharedCommands(member.process, member.cluster.num_workers, self._share)
        return CommandAgreement(member.process, member.cluster.num_workers)

    def _share(self, text: str) -> list[str]:
        """What every worker says, once all have come to say it."""
        assert self._member is not None
        return self._training.share(self._member.process, self._member.cluster.num_workers, text)

    def _answer(
        self,
        number: int,
        status: Literal["applied", "rejected"],
        message: str | None,
        took_ms: float,
    ) -> None:
        if not self._is_leader:
            return
        self._recorder.write(
            CommandAnswered(number, "reconfigure", status, self._training.step, message, took_ms)
        )

    def _fail(self, message: str, follows: bool = False) -> None:
        """Say why the run cannot go on: on the pipe too, for a full disk takes no event."""
        error = sys.exc_info()[1]
        place = "" if error is None else place_of_error(error)
        failed = Failed(isolation_hint.with_advice(message), traceback.format_exc(), follows, place)
        self._say({"failed": msgspec.to_builtins(failed)})
        with suppress(RunFolderError):
            self._recorder.write(failed)
        with suppress(OSError):
            traceback.print_exc()


def _membership(command: protocol.Run) -> Membership | None:
    if command.cluster is None:
        return None
    cluster = Cluster.from_json(command.cluster)
    return Membership(cluster, command.worker, command.has_own_launcher)
