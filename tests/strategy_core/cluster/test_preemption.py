"""The preemption demonstration shows what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.strategy_core.cluster.preemption import PREEMPT_AT, RESTART_CODE, demonstrate

pytestmark = pytest.mark.run


@pytest.mark.long
def test_preempted_workers_save_after_the_same_step_and_go_on_from_it(tmp_path: Path) -> None:
    seen = demonstrate(2, tmp_path)
    assert seen.exit_codes == [RESTART_CODE] * 2
    assert len(set(seen.left_after)) == 1
    assert seen.left_after[0] >= PREEMPT_AT
    assert seen.went_on_from == seen.left_after
