"""The table of known errors, and how one of them is explained."""

from __future__ import annotations

import pytest

from strategy_failures.known import KNOWN
from strategy_profiles.analysis.failures import Known, explain
from tests.plugins.failures.reference import reference
from tests.plugins.leaves import REPOSITORY
from tests.profiles.analysis.test_failures import EMPTY

README = REPOSITORY / "plugins" / "failures" / "README.md"


@pytest.mark.parametrize("entry", KNOWN, ids=lambda entry: entry.key)
def test_every_known_error_says_cause_and_remedy_in_sentences(entry: Known) -> None:
    assert not entry.cause.endswith(".")
    assert entry.remedy.endswith(".")


def test_an_error_has_its_replica_layer_line_step_and_cause() -> None:
    explanation = explain(EMPTY, 12, 4)
    assert explanation.key == "empty-batch"
    assert explanation.sentence.startswith(
        "The run failed in step 12 at train.py:15, in `scale_1` because replica 2 got no example"
    )
    assert "drop_remainder=True" in explanation.advice


def test_the_page_has_every_known_error() -> None:
    assert README.read_text("utf-8") == reference(), "make reference"
