"""Edits as text: what a page writes into an address is read again as the same edit."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.step_graph.recording import ReplayError
from strategy_profiles.tables.store import Profile
from strategy_replay.engine.collective_edits import FasterLink, MessageCost, OtherPacks
from strategy_replay.engine.edit_text import MOST_CHARACTERS, edits_of, text_of
from strategy_replay.engine.edits import AverageReplica, Edit, Faster, InputFree, RemoveDelay
from strategy_replay.engine.overlapped import Overlapped
from tests.synthetic import write_run

COST = MessageCost(1.0, 1.0)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return strategy_profiles.load(
        write_run(tmp_path_factory.mktemp("text") / "run", steps=20, windows=1)
    )


@pytest.mark.parametrize(
    "text",
    [
        "remove-delay",
        "input-free",
        "faster:Conv2D=2",
        "faster:communication=inf",
        "faster:worker 1=1.5",
        "remove-delay,input-free,faster:_FusedMatMul=0.5",
    ],
)
def test_a_text_is_read_as_the_edits_that_it_is_written_from(text: str, profile: Profile) -> None:
    assert text_of(edits_of(profile, 0, text)) == text


def test_edits_are_written_without_what_the_recording_says() -> None:
    edits: list[Edit] = [
        AverageReplica(2, "replica 2"),
        FasterLink(2.5, COST),
        OtherPacks(1_000, COST),
        Overlapped(1.0),
    ]
    assert text_of(edits) == "straggler,link=2.5,packs=1000,overlapped"
    assert text_of([RemoveDelay(), InputFree(), Faster("compute", 2)]) == (
        "remove-delay,input-free,faster:compute=2"
    )
    assert text_of([RemoveDelay(), Faster("a,b", 2)]) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "names no edit"),
        ("slower", "names no edit"),
        ("faster:=2", "names no edit"),
        ("faster:Conv2D", "no number above 0"),
        ("faster:Conv2D=0", "no number above 0"),
        ("faster:Conv2D=nan", "no number above 0"),
        ("link=-1", "no number above 0"),
        ("packs=x", "no whole number from 0"),
        ("batch=0", "no whole number from 1"),
        ("batch=" + "9" * 30, "no whole number from 1"),
        ("input-free," * 10 + "input-free", "at most 10 are applied"),
        ("x" * (MOST_CHARACTERS + 1), f"at most {MOST_CHARACTERS} are read"),
    ],
)
def test_another_text_is_refused_in_a_sentence(text: str, problem: str, profile: Profile) -> None:
    # The link and the packs ask the recording first, which this made-up run has not.
    with pytest.raises(ReplayError, match=f"{problem}|graph of segment 0 is missing"):
        edits_of(profile, 0, text)


@pytest.mark.run
def test_edits_of_a_real_run_are_read_again(finished_run: Path) -> None:
    opened = strategy_profiles.load(finished_run)
    batch = opened.segments[-1].global_batch_size
    assert batch is not None
    text = f"link=2,algorithm=tree,batch={2 * batch}"
    assert text_of(edits_of(opened, 1, text)) == text
