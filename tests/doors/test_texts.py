"""Every text of a page or the environment: hostile values."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

from strategy_app.access.policy import choose_token
from strategy_app.widgets.first_runs import import_dropped
from strategy_core.cluster.discovery.resolve import resolve
from strategy_core.planning import data_path, strategy_catalog, workload_catalog
from strategy_core.processes import running_labs
from strategy_core.processes.running_labs import TOKEN_VARIABLE
from strategy_profiles.errors import LabError
from strategy_profiles.run.rename import rename_run
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.tables.sql_process import ask_folder
from strategy_profiles.user_input.files import find
from tests.doors.hostile import TEXTS, make_files, no_hang
from tests.plugins.leaves import from_doors
from tests.synthetic import write_run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "one", steps=30, windows=1)


def tried(take: Callable[[str], object], values: dict[str, str], what: str) -> None:
    """Each value is taken, or refused in a sentence."""
    for name, value in values.items():
        with no_hang(f"{what} {name}"):
            said = refusal(take, value)
        assert len(said) < 1500, (what, name)


def refusal(take: Callable[[str], object], value: str) -> str:
    try:
        take(value)
    except LabError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("what", "take"),
    [
        ("workload", workload_catalog.find),
        ("data", data_path.check),
        ("a path to import", lambda text: find(text, "The path")),
        ("topology", lambda text: RunSpec().with_changes({"tpu.topology": text})),
        ("devices", lambda text: RunSpec().with_changes({"devices": text})),
        *(pair for texts in from_doors("TEXTS") for pair in texts.items()),
    ],
)
def test_a_text_of_a_page_is_refused_in_a_sentence(
    what: str, take: Callable[[str], object], tmp_path: Path
) -> None:
    suffix = {"workload": ".py", "data": ".npz"}.get(what, "")
    files = {name: str(path) for name, path in make_files(tmp_path / "h", suffix).items()}
    tried(take, TEXTS | files | {"null": "a\0b", "unknown user": "~nosuchuser/x"}, what)


def test_a_dropped_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """Its name may be any text, and its content that of any file."""

    def take(name: str) -> None:
        dropped = UploadedFile(UploadedFileRec("1", name, "", b"no profile"), FileURLs())
        import_dropped(dropped, tmp_path / "runs")

    tried(take, TEXTS | {"folder": "..", "windows": "C:\\a\\b", "null": "a\0b"}, "a dropped file")
    assert list(tmp_path.glob("*")) in ([], [tmp_path / "runs"])


def test_a_new_name_is_refused_in_a_sentence(tmp_path: Path) -> None:
    def take(text: str) -> None:
        run = write_run(tmp_path / "runs" / "one", steps=2, windows=0)
        try:
            assert rename_run(run, text).parent == run.parent
        finally:
            shutil.rmtree(run.parent)

    tried(take, TEXTS, "name")


def test_a_query_is_refused_in_a_sentence(run: Path) -> None:
    values = {name: TEXTS[name] for name in ("digits", "deep", "long", "half a character", "empty")}
    tried(lambda text: ask_folder(run, text), values, "query")


def test_tf_config_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def take(text: str) -> None:
        monkeypatch.setenv("TF_CONFIG", text[:100_000])
        resolve("TF_CONFIG")

    nested = '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": %s}}'
    more = {
        f"index {k}": nested % v for k, v in TEXTS.items() if k in ("digits", "deep", "no number")
    }
    tried(take, {k: v for k, v in (TEXTS | more).items() if k != "half a character"}, "TF_CONFIG")


def test_a_token_is_refused_in_a_sentence() -> None:
    tried(lambda text: choose_token({TOKEN_VARIABLE: text}), TEXTS, "token")
    with pytest.raises(LabError):
        choose_token({TOKEN_VARIABLE: "a" * 10_000})


def test_a_folder_of_strategies_with_pipes_is_refused_in_a_sentence(
    tmp_path: Path,
) -> None:
    for name, path in make_files(tmp_path / "hostile", ".py").items():
        if len(path.name) > 200 or len(str(path)) > 1000 or name == "missing":
            continue
        with no_hang(f"strategy {name}"), pytest.raises(LabError, match="cannot be read"):
            strategy_catalog.read_row(path)


def test_a_record_of_a_lab_may_be_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`trace --live` and the TensorBoard tab look for a running lab there."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = tmp_path / "strategy-lab"
    made = make_files(folder)
    for name, path in made.items():
        if path.parent == folder and len(path.name) < 200 and name not in ("missing", "loop"):
            place = folder / f"lab-{running_labs.socket.gethostname()}-{len(name)}.json"
            place.unlink(missing_ok=True)
            path.rename(place)
            if place.is_dir():
                place.rmdir()
                continue
            with no_hang(f"lab {name}"):
                assert running_labs.address_of(tmp_path) is None
                assert running_labs.page_of_process(len(name)) is None
