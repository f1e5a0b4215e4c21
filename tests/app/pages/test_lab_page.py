"""The Lab page without a browser: cards, knobs, messages beside fields, commands to a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from strategy_app.forms import device_picker
from strategy_core.launcher import runs_lock
from strategy_core.planning import strategy_catalog, validation
from strategy_core.planning.inventory import Inventory, PhysicalDevice
from strategy_core.planning.validation import CheckedSpec
from strategy_profiles.errors import LabError
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import CommandAnswered, SegmentOpened
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.run.manifest import create_run_file
from strategy_profiles.spec.run_spec import RunSpec
from tests.app.looking import open_page, rerun, text_of
from tests.synthetic import HOSTILE, write_run

CPU = PhysicalDevice("CPU", "/physical_device:CPU:0")
MOVED_AT = [1]
"""When sliders were moved, in ms; each move is later than those before."""
GPUS = tuple(PhysicalDevice("GPU", f"/physical_device:GPU:{i}") for i in range(2))


class PretendedRun:
    """A launched run that only notes what it is asked."""

    def __init__(self, spec: RunSpec, folder: Path) -> None:
        create_run_file(folder, spec.to_json())
        self.spec, self.folder, self.is_over, self.step = spec, folder, False, 7
        self.asked: list[Any] = []

    def reconfigure(self, changes: Mapping[str, Any]) -> int:
        self.asked.append(dict(changes))
        return len(self.asked)

    def stop(self) -> int:
        self.asked.append("stop")
        return len(self.asked)


class PretendedLauncher:
    """Launches pretended runs; `refuses` is raised instead, where set."""

    def __init__(self, *devices: PhysicalDevice) -> None:
        self.devices = devices or (CPU,)
        self.launched: list[PretendedRun] = []
        self.checkpoints: list[Path | None] = []
        self.are_checked: list[bool] = []
        """Whether the page handed on what it had checked."""
        self.refuses: LabError | None = None

    def inventory(self) -> Inventory:
        return Inventory(self.devices, "2.21.0")

    @property
    def active(self) -> tuple[PretendedRun, ...]:
        return tuple(self.launched)

    def launch(
        self, asked: RunSpec | CheckedSpec, folder: Path, checkpoint: Path | None = None
    ) -> PretendedRun:
        if self.refuses:
            raise self.refuses
        self.are_checked.append(isinstance(asked, CheckedSpec))
        spec = validation.check(asked).spec
        self.checkpoints.append(checkpoint)
        self.launched.append(PretendedRun(spec, folder))
        return self.launched[-1]


@pytest.fixture
def launcher() -> PretendedLauncher:
    return PretendedLauncher()


def press(at: AppTest, label: str) -> AppTest:
    next(button for button in at.button if button.label == label).click()
    return rerun(at)


def errors(at: AppTest) -> str:
    return "\n".join(item.value for item in at.error)


def test_every_strategy_has_its_card_and_says_why_it_cannot_run(
    lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        replace(row, needs="a moon", kinds=("TPU",)) if row.name == "tpu" else row
        for row in strategy_catalog.rows()
    ]
    monkeypatch.setattr(strategy_catalog, "rows", lambda: tuple(rows))
    at = open_page("lab", lab)
    buttons = {button.label: button for button in at.button}
    for row in rows:
        assert buttons[row.title].disabled == (row.name == "tpu")
    assert "Not here:** it needs a moon, and this machine has no TPU." in text_of(at)


@pytest.mark.slow
def test_run_launches_what_was_chosen_and_shows_it(lab: Path, launcher: PretendedLauncher) -> None:
    at = press(open_page("lab", lab), "CentralStorageStrategy")
    at.number_input(key="devices_many_cpu").set_value(2)
    at.number_input(key="batch").set_value(64)
    at.number_input(key="learning_rate").set_value(0.01)
    press(at, "Run")
    assert launcher.are_checked == [True], "the form has checked it; the launcher need not"
    spec = launcher.launched[0].spec
    assert (spec.strategy, spec.devices, spec.global_batch_size) == ("central-storage", "cpu:2", 64)
    assert spec.workload_options == {"learning_rate": 0.01}
    assert at.query_params["run"] in (name := launcher.launched[0].folder.name, [name])
    assert any(button.label == "Stop" for button in at.button)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("batch", 255, "shared equally among"),
        ("devices_many_cpu", 3, "shared equally among"),
        ("data", "/nowhere/data.npz", "does not exist"),
    ],
)
def test_a_mistake_is_said_at_once_and_nothing_runs(
    key: str, value: Any, message: str, lab: Path, launcher: PretendedLauncher
) -> None:
    at = open_page("lab", lab)
    field = at.text_input(key=key) if isinstance(value, str) else at.number_input(key=key)
    field.set_value(value)
    rerun(at)
    assert message.replace("_", "") in errors(at).replace("\\", "")
    press(at, "Run")
    assert not launcher.launched


def test_a_batch_that_does_not_divide_offers_the_nearest_and_run_says_why(
    lab: Path, launcher: PretendedLauncher
) -> None:
    at = open_page("lab", lab)
    at.number_input(key="batch").set_value(255)
    rerun(at)
    assert any("Cannot run yet" in item.value for item in at.caption)
    press(at, "Use 256")
    assert not errors(at)
    press(at, "Run")
    assert launcher.launched[0].spec.global_batch_size == 256
    assert launcher.launched[0].spec.steps is None, "until stopped"


def test_a_run_continues_from_what_an_ended_one_saved(
    lab: Path, launcher: PretendedLauncher
) -> None:
    run = write_run(lab / "ended", steps=20, windows=0)
    at = open_page("lab", lab, run="ended")
    assert "ended before its state was saved" in at.button(key="continue_button").help
    saved = worker_folder(run, 0).checkpoint
    saved.mkdir()
    position = {"step": 12, "examples": 96, "num_segments": 1, "checksum": "0"}
    (saved / "position.json").write_text(json.dumps(position))
    rerun(at)
    assert "From step 12, the last saved state" in text_of(at)
    press(at, "Continue from here")
    assert launcher.checkpoints == [saved]
    assert launcher.launched[0].spec.steps is None


@pytest.mark.slow
def test_a_workload_file_of_ones_own_must_be_there(
    lab: Path, launcher: PretendedLauncher, tmp_path: Path
) -> None:
    at = open_page("lab", lab)
    at.selectbox(key="workload").set_value("My own file")
    rerun(at)
    assert "path of the workload file is empty" in errors(at)
    at.text_input(key="workload_file").set_value(str(tmp_path / "mine.py"))
    rerun(at)
    assert "does not exist" in errors(at)
    (tmp_path / "mine.py").write_text("")
    press(at, "Run")
    assert launcher.launched[0].spec.workload == str(tmp_path / "mine.py")


def test_who_trains_in_the_folder_is_said_before_run_is_pressed(lab: Path) -> None:
    with runs_lock.take(lab / "theirs"):
        said = "".join(each.value for each in open_page("lab", lab).caption)
        assert "theirs" in said
        assert "Run starts nothing before it has ended" in said
    said = "".join(each.value for each in open_page("lab", lab).caption)
    assert "theirs" not in said


def test_what_the_launcher_refuses_is_said(lab: Path, launcher: PretendedLauncher) -> None:
    launcher.refuses = LabError(f"No space for {HOSTILE}")
    at = press(open_page("lab", lab), "Run")
    assert "No space for" in errors(at)
    assert "<script>" not in errors(at)


def test_gpus_are_offered_where_they_are(lab: Path, launcher: PretendedLauncher) -> None:
    launcher.devices = (CPU, *GPUS)
    at = press(open_page("lab", lab), "Run")
    assert launcher.launched[0].spec.devices == "gpu:2", errors(at)


def test_cards_are_described_where_nvml_knows_them(
    lab: Path, launcher: PretendedLauncher, monkeypatch: pytest.MonkeyPatch
) -> None:
    descriptions = ("NVIDIA A, 20 of 80 GiB of memory used",)
    monkeypatch.setattr(device_picker, "states_of_cards", lambda: descriptions)
    assert descriptions[0] not in text_of(open_page("lab", lab)), "no GPU"
    launcher.devices = (CPU, *GPUS)
    at = open_page("lab", lab)
    assert descriptions[0] in text_of(at)
    monkeypatch.setattr(device_picker, "states_of_cards", lambda: ())
    assert "cards" not in "".join(item.value for item in rerun(at).caption)


def running(lab: Path, launcher: PretendedLauncher) -> tuple[AppTest, PretendedRun, EventLog]:
    """A page that watches a pretended run whose first segment is in force."""
    at = press(open_page("lab", lab), "Run")
    run = launcher.launched[0]
    log = EventLog(worker_folder(run.folder, 0).events)
    log.write(opened(0, run.spec))
    return rerun(at), run, log


def opened(number: int, spec: RunSpec) -> SegmentOpened:
    return SegmentOpened(number, "mirrored", 4, 1, 256, 0, 0, [], "auto", spec.to_json())


def move(at: AppTest, ms_by_place: Mapping[str, float]) -> None:
    """Move sliders as the browser tells it: once, with the time."""
    key = f"delay_sliders_{at.session_state['last_run']}"
    MOVED_AT.append(MOVED_AT[-1] + 1)
    at.session_state[key] = {"moved": {"at": MOVED_AT[-1], "ms": dict(ms_by_place)}}


def shown_ms(at: AppTest) -> dict[str, int]:
    """What the sliders of the delays show, by place."""
    (found,) = (item for item in at.get("bidi_component") if "delays" in item.proto.component_name)
    return {row["place"]: row["ms"] for row in json.loads(found.proto.json)["rows"]}


def live(at: AppTest, kind: str, name: str) -> Any:
    return next(item for item in at.get(kind) if str(item.key).endswith(name))


@pytest.mark.slow
def test_a_change_is_sent_on_apply_and_shown_as_applied_only_once_it_is(
    lab: Path, launcher: PretendedLauncher
) -> None:
    at, run, log = running(lab, launcher)
    live(at, "number_input", "devices_many_cpu").set_value(2)
    press(at, "Apply")
    assert run.asked == [{"devices": "cpu:2"}]
    assert "sent, not yet applied" in text_of(at)
    log.write(opened(1, run.spec.with_changes({"devices": "cpu:2"})))
    log.write(CommandAnswered(1, "reconfigure", "applied", 9, took_ms=400.0))
    rerun(at)
    assert "applied at step 8 in 400 ms" in text_of(at)
    assert live(at, "number_input", "devices_many_cpu").value == 2


@pytest.mark.slow
def test_a_rejected_change_shows_its_reason_and_the_knob_goes_back(
    lab: Path, launcher: PretendedLauncher
) -> None:
    at, _, log = running(lab, launcher)
    live(at, "number_input", "devices_many_cpu").set_value(2)
    press(at, "Apply")
    log.write(CommandAnswered(1, "reconfigure", "rejected", 9, "No such luck"))
    rerun(at)
    assert "No such luck" in errors(at)
    assert live(at, "number_input", "devices_many_cpu").value == 4


@pytest.mark.slow
def test_a_change_that_cannot_be_is_not_sent(lab: Path, launcher: PretendedLauncher) -> None:
    at, run, _ = running(lab, launcher)
    live(at, "number_input", "devices_many_cpu").set_value(3)
    press(at, "Apply")
    assert "cannot be shared equally" in errors(at)
    assert not run.asked


@pytest.mark.slow
def test_a_delay_acts_at_once_and_waits_for_the_command_before_it(
    lab: Path, launcher: PretendedLauncher
) -> None:
    at, run, log = running(lab, launcher)
    move(at, {"0/2": 30})
    rerun(at)
    first = {"inject": [{"kind": "delay", "replica": 2, "ms": 30.0, "worker": 0}]}
    assert run.asked == [first]
    for ms in (40, 50):
        move(at, {"0/2": ms})
        rerun(at)
    assert run.asked == [first]
    log.write(opened(1, run.spec.with_changes(first)))
    log.write(CommandAnswered(1, "reconfigure", "applied", 9))
    rerun(at)
    assert [changes["inject"][0]["ms"] for changes in run.asked] == [30.0, 50.0]


@pytest.mark.slow
def test_an_algorithm_that_is_in_use_already_is_not_asked_for(
    lab: Path, launcher: PretendedLauncher
) -> None:
    at, run, _ = running(lab, launcher)
    live(at, "selectbox", "_ops_5").set_value("collective-ring")
    press(at, "Apply")
    assert not run.asked
    assert "auto is collective-ring here, which is in use already" in text_of(at).replace("\\", "")


@pytest.mark.slow
def test_no_move_of_a_slider_is_lost_to_the_answer_that_it_crosses(
    lab: Path, launcher: PretendedLauncher
) -> None:
    """The page learns of the answer and of the move in the same run of its script."""
    at, run, log = running(lab, launcher)
    move(at, {"0/2": 30})
    rerun(at)
    live(at, "number_input", "_batch").set_value(128)
    log.write(opened(1, run.spec.with_changes(run.asked[0])))
    log.write(CommandAnswered(1, "reconfigure", "applied", 9))
    move(at, {"0/1": 20})
    rerun(at)
    assert {delay["replica"]: delay["ms"] for delay in run.asked[1]["inject"]} == {1: 20, 2: 30}
    assert shown_ms(at) == {"0/0": 0, "0/1": 20, "0/2": 30, "0/3": 0}
    assert live(at, "number_input", "_batch").value == 128, "turned, and not applied yet"


@pytest.mark.slow
def test_a_pending_delay_of_a_removed_replica_is_dropped(
    lab: Path, launcher: PretendedLauncher
) -> None:
    at, run, log = running(lab, launcher)
    live(at, "number_input", "devices_many_cpu").set_value(2)
    press(at, "Apply")
    move(at, {"0/0": 30, "0/3": 30})
    rerun(at)
    log.write(opened(1, run.spec.with_changes(run.asked[0])))
    log.write(CommandAnswered(1, "reconfigure", "applied", 9))
    rerun(at)
    assert [delay["replica"] for delay in run.asked[1]["inject"]] == [0]


@pytest.mark.slow
def test_a_rejected_delay_is_not_asked_again(lab: Path, launcher: PretendedLauncher) -> None:
    at, run, log = running(lab, launcher)
    move(at, {"0/2": 30})
    rerun(at)
    log.write(CommandAnswered(1, "reconfigure", "rejected", 9, "No"))
    for _ in range(3):
        rerun(at)
    assert len(run.asked) == 1
    assert shown_ms(at)["0/2"] == 0


@pytest.mark.slow
def test_moves_that_arrive_again_or_change_nothing_are_not_sent(
    lab: Path, launcher: PretendedLauncher
) -> None:
    """A rerun may bring back older moves of the browser; and a slider can be moved back."""
    at, run, log = running(lab, launcher)
    move(at, {"0/2": 0})
    rerun(at)
    assert not run.asked
    move(at, {"0/2": 30})
    rerun(at)
    log.write(opened(1, run.spec.with_changes(run.asked[0])))
    log.write(CommandAnswered(1, "reconfigure", "applied", 9))
    move(at, {"0/2": 0})
    rerun(at)
    log.write(opened(2, run.spec.with_changes(run.asked[1])))
    log.write(CommandAnswered(2, "reconfigure", "applied", 12))
    MOVED_AT[-1] -= 2  # the next one is the second move once more
    move(at, {"0/2": 30})
    rerun(at)
    assert [changes["inject"] for changes in run.asked[1:]] == [[]]


@pytest.mark.slow
def test_stop_is_sent_once(lab: Path, launcher: PretendedLauncher) -> None:
    at, run, _ = running(lab, launcher)
    press(at, "Stop")
    assert run.asked == ["stop"]
    assert next(button for button in at.button if button.label == "Stop").disabled


@pytest.mark.slow
def test_a_second_browser_shows_the_run_that_is_active(
    lab: Path, launcher: PretendedLauncher
) -> None:
    _, run, _ = running(lab, launcher)
    launched = launcher.launched
    other = open_page("lab", lab)
    launcher.launched = launched
    assert run.folder.name in text_of(other).replace("\\", "")


def test_a_run_started_elsewhere_is_watched_only(lab: Path) -> None:
    write_run(lab / "theirs", steps=20, windows=1, ending=None)
    at = open_page("lab", lab, run="theirs")
    labels = [button.label for button in at.button]
    assert "Stop" not in labels
    assert "Apply" not in labels


@pytest.mark.parametrize("name", ["missing", "../..", "a/b"])
def test_a_link_to_no_run_says_so(name: str, lab: Path) -> None:
    at = open_page("lab", lab, run=name)
    assert "in the runs folder" in errors(at)
    press(at, "New run")
    assert any(button.label == "Run" for button in at.button)


def test_text_of_a_run_stays_text(lab: Path) -> None:
    write_run(lab / "hostile", steps=20, windows=1, prefix=HOSTILE, ending="failed")
    assert "<script>" not in text_of(open_page("lab", lab, run="hostile"))
