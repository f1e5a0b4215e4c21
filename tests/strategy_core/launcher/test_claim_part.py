"""A run folder that several hosts write into, or one host of several."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec
import pytest

from strategy_core.cluster.discovery.task_address import at_process, own_task_from_addresses
from strategy_core.launcher.claim import claim, claim_part
from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.manifest import read_run_file
from strategy_profiles.spec.run_spec import RunSpec

FIRST = own_task_from_addresses(["a:1", "b:2", "c:3"], 0, 0, "--cluster")
SPEC = RunSpec.model_validate(FIRST.spec_changes("") | {"global_batch_size": 6})


def test_hosts_share_a_folder_in_any_order(tmp_path: Path) -> None:
    run = tmp_path / "run"
    for process in (2, 0, 1):
        claim_part(run, SPEC, at_process(FIRST, process))
    names = sorted(path.name for path in run.iterdir())
    assert names == ["run.json", "worker-0-0", "worker-1-0", "worker-2-0"]
    identity = read_run_file(run)
    assert identity is not None
    expected = {"run_id": FIRST.run_id(SPEC), "tasks": FIRST.cluster.to_json()}
    assert msgspec.to_builtins(identity.cluster) == expected
    assert identity.spec == SPEC.to_json()


def test_hosts_that_come_at_once_all_get_their_part(tmp_path: Path) -> None:
    wide = own_task_from_addresses([f"h{i}:1" for i in range(12)], 0, 0, "--cluster")
    spec = RunSpec.model_validate(wide.spec_changes("") | {"global_batch_size": 12})
    errors: list[RunFolderError] = []
    gate = threading.Barrier(12)

    def take(process: int) -> None:
        gate.wait()
        try:
            claim_part(tmp_path / "run", spec, at_process(wide, process))
        except RunFolderError as error:
            errors.append(error)

    threads = [threading.Thread(target=take, args=(process,)) for process in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(list((tmp_path / "run").glob("worker-*"))) == 12


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    run = tmp_path / "run"
    claim_part(run, SPEC, FIRST)
    with pytest.raises(RunFolderError, match="has worker 0 already"):
        claim_part(run, SPEC, FIRST)
    with pytest.raises(RunFolderError, match="give the same flags on every host"):
        claim_part(run, SPEC.with_changes({"steps": 7}), at_process(FIRST, 1))
    claim(tmp_path / "other", SPEC)
    with pytest.raises(RunFolderError, match="holds another run"):
        claim_part(tmp_path / "other", SPEC, FIRST)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(RunFolderError, match="holds other files"):
        claim_part(tmp_path / "mine", SPEC, FIRST)
    with pytest.raises(RunFolderError, match="a file"):
        claim_part(tmp_path / "mine" / "thesis.txt", SPEC, FIRST)
