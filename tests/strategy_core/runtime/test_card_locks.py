"""Two runs of launchers in different folders, with the same visible cards."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from strategy_core.runtime import card_locks
from strategy_profiles.errors import LabError

HOLD = """
import sys, time
from pathlib import Path
from strategy_core.runtime import card_locks
card_locks.uuid_of = lambda card: f"uuid-{card}"
card_locks.take([0, 1], Path(sys.argv[1]))
print("held", flush=True)
time.sleep(3600)
"""


@pytest.fixture
def owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of the run `a`, which has the first two cards."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(card_locks, "uuid_of", lambda card: f"uuid-{card}")
    command = [sys.executable, "-c", HOLD, str(tmp_path / "one" / "a")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_a_card_has_one_run_until_its_worker_ends(
    tmp_path: Path, owner: subprocess.Popen[bytes]
) -> None:
    with pytest.raises(LabError) as refused:
        card_locks.take([1], tmp_path / "other" / "b")
    # Of a long path the middle is left out.
    said = rf"Run '.*/one/a' \(process {owner.pid}\) trains on GPU:1 \(uuid-1\) now"
    assert re.search(said, str(refused.value))
    card_locks.take([2], tmp_path / "other" / "b")
    owner.kill()
    owner.wait()
    card_locks.take([0, 1], tmp_path / "other" / "b")


@pytest.mark.usefixtures("owner")
def test_workers_of_one_run_share_its_cards(tmp_path: Path) -> None:
    """As a fresh worker and the one that it replaces."""
    card_locks.take([0, 1], tmp_path / "one" / "a")


@pytest.mark.usefixtures("owner")
@pytest.mark.parametrize("content", [b"", b"\xff", b"[" * 4096, b'{"pid": -1, "run": 3}'])
def test_the_content_of_a_lock_file_is_not_trusted(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "strategy-lab" / "card-uuid-0").write_bytes(content)
    with pytest.raises(LabError, match="Another process trains on GPU:0"):
        card_locks.take([0], tmp_path / "other" / "b")


def test_a_card_without_a_uuid_keeps_no_run_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(card_locks, "uuid_of", lambda _card: None)
    card_locks.take([0], tmp_path / "a")
    assert list(tmp_path.iterdir()) == []
