"""Errors that the end of another process caused differ from those of the process itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from strategy_core.cluster.lost_peer import is_about_lost_peer


@pytest.mark.tf
def test_errors_of_connections_are_a_peers_and_those_of_ops_are_not() -> None:
    from tensorflow import errors

    peers = (errors.UnavailableError, errors.AbortedError, errors.DeadlineExceededError)
    assert all(is_about_lost_peer(kind(None, None, "peer is gone")) for kind in peers)
    assert not is_about_lost_peer(errors.InvalidArgumentError(None, None, "no step 7"))
    assert not is_about_lost_peer(ValueError("no data"))


def test_a_process_without_tensorflow_does_not_import_it_for_the_answer() -> None:
    code = (
        "import sys; from strategy_core.cluster.lost_peer import is_about_lost_peer; "
        "assert not is_about_lost_peer(ValueError()); assert 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
