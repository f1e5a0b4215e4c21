"""The usual time between two steps, in a synthetic run whose steps follow each other at once."""

from __future__ import annotations

import numpy as np
import pytest

import strategy_profiles
from strategy_profiles.analysis.between_steps import between_steps
from tests.synthetic import write_run


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> strategy_profiles.Profile:
    return strategy_profiles.load(
        write_run(tmp_path_factory.mktemp("gaps") / "run", replicas=2, steps=300)
    )


def test_steps_that_follow_each_other_have_no_gap(profile: strategy_profiles.Profile) -> None:
    gaps = between_steps(profile, 0)
    assert gaps.gaps_ms.size > 100
    assert np.median(gaps.gaps_ms) == pytest.approx(0.0, abs=1e-3)
