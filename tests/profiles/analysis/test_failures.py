"""What is said of an error that ended a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.analysis.failures import explain
from strategy_profiles.analysis.findings import findings, gather_facts
from strategy_profiles.analysis.headline import headline
from strategy_profiles.run.events import Failed
from tests.plugins.test_stranger import Packages
from tests.replaced import replace
from tests.synthetic import write_run

EMPTY = Failed(
    "InvalidArgumentError: slice index 0 of dimension 0 out of bounds.",
    "... [[{{node replica_2/sequential_1/scale_1/strided_slice}}]] [[cond/output/_18/_98]]",
    place="train.py:15",
)


ENTRIES = """
from strategy_profiles.analysis.failures import Known
MOON = Known("moon", "moon is (full|new)", "{who} looked at the moon", "Look away.")
CALLED = Known("called", r"odd\\.py", "odd.py was called", "Call another.", is_of_traceback=True)
ENTRIES = (MOON, CALLED)
"""


def test_an_error_that_a_package_knows_has_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = Packages(tmp_path)
    entries = "moon = moonstruck.known:ENTRIES\nlost = moonstruck.gone\n"
    packages.add("moonstruck", f"[strategy_lab.failures]\n{entries}", known=ENTRIES)
    monkeypatch.syspath_prepend(tmp_path)
    node = "[[{{node replica_1/model/dense/MatMul}}]]"
    explanation = explain(Failed("OddError: the moon is full.", node, place="a.py:2"), 3, 2)
    assert (explanation.key, explanation.replica, explanation.layer) == ("moon", 1, "dense")
    assert explanation.sentence == (
        "The run failed in step 3 at a.py:2, in `dense` because replica 1 looked at the moon "
        "(OddError: the moon is full)."
    )
    assert explanation.advice == "Look away."
    calls = 'Traceback (most recent call last):\n  File "odd.py", line 3\nKeyError\n'
    assert explain(Failed("KeyError", calls), None).key == "called"
    calls = calls.replace("odd.py", "the moon is new.py")
    assert explain(Failed("KeyError", calls), None).key is None


def test_an_unknown_error_is_shown_as_it_was_written_with_its_replica_and_step() -> None:
    odd = Failed("WeirdError: the moon is full.", "[[{{node replica_1/model/dense/MatMul}}]]")
    explanation = explain(odd, 3, 2)
    assert explanation.key is None
    assert explanation.sentence == (
        "The run failed in step 3 on replica 1, in `dense`: WeirdError: the moon is full."
    )


def test_only_the_error_itself_is_looked_at_and_not_what_was_handled_or_called() -> None:
    detail = (
        "Traceback (most recent call last):\n"
        "OutOfRangeError: End of sequence [[{{node replica_1/model/dense/Get}}]]\n"
        "\nDuring handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n"
        '  File "train.py", line 3, in <module>\n'
        "    raise ValueError(text)  # slice index 0 of dimension 0 out of bounds\n"
        "ValueError: no model\n"
    )
    explanation = explain(Failed("ValueError: no model", detail), 3, 2)
    assert (explanation.key, explanation.replica, explanation.layer) == (None, None, None)


@pytest.mark.parametrize(
    ("node", "layer"),
    [
        ("replica_1/sequential_1/dense_1/MatMul", "dense_1"),
        ("sequential_1/dense_1/Relu/CheckNumericsV2", "dense_1"),
        ("compile_loss/mse/Sum/Sum", "mse"),
        ("random_uniform/RandomUniform", None),
        ("while/cond/IteratorGetNext_1", None),
        ("add", None),
    ],
)
def test_the_layer_is_the_scope_around_the_op(node: str, layer: str | None) -> None:
    assert explain(Failed("Odd", f"[[{{{{node {node}}}}}]]"), 3).layer == layer


def test_before_the_first_step_there_is_no_step_to_look_at() -> None:
    explanation = explain(Failed("ValueError: no model", place="train.py:3"), None)
    assert explanation.lines == (
        "The run failed before its first step at train.py:3: ValueError: no model.",
        "Change what the message names.",
    )


def test_of_an_unknown_error_the_line_itself_is_shown() -> None:
    detail = (
        "Traceback (most recent call last):\n"
        '  File "/home/me/train.py", line 3, in <module>\n'
        '    print(settings["batch"])\n'
        "          ~~~~~~~~^^^^^^^^^\n"
        "KeyError: 'batch'\n"
    )
    explanation = explain(Failed("KeyError: 'batch'", detail, place="train.py:3"), None)
    assert 'at train.py:3 (`print(settings["batch"])`): KeyError' in explanation.sentence


def test_a_program_with_one_replica_names_none() -> None:
    assert explain(EMPTY, 12, 1).replica is None


def test_the_failure_is_the_headline_of_a_failed_run(tmp_path: Path) -> None:
    profile = strategy_profiles.load(
        write_run(tmp_path / "run", replicas=2, steps=60, ending="failed")
    )
    facts = gather_facts(profile, profile.segments[0])
    first = findings(facts)[0]
    assert first.key == "failure"
    assert "".join(headline(profile, facts)).endswith(first.sentence)


def test_a_run_that_ended_without_an_error_of_its_own_has_the_headline_of_its_steps(
    tmp_path: Path,
) -> None:
    """As one whose worker hung, and which its launcher ended."""
    run = write_run(tmp_path / "run", replicas=3, steps=60, straggler=(1, 30.0))
    profile = strategy_profiles.load(run)
    facts = gather_facts(profile, profile.segments[0])
    usual = "".join(headline(profile, facts))
    assert "the loop takes " in usual
    ended = replace(facts, failure="worker 1 did not answer for 120 s")
    assert "".join(headline(profile, ended)) == usual


@pytest.mark.parametrize("ending", ["finished", "failed"])
def test_no_sentence_begins_after_a_colon(tmp_path: Path, ending: str) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=60, ending=ending))
    facts = gather_facts(profile, profile.segments[0])
    assert not re.search(r": [A-Z]", "".join(headline(profile, facts)))


def test_of_a_program_that_a_signal_ended_no_step_is_blamed() -> None:
    explanation = explain(Failed("The program was ended by SIGTERM."), 12)
    assert explanation.sentence == "The run failed in step 12: the program was ended by SIGTERM."
    assert "step" not in explanation.advice
