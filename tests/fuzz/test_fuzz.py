"""A few hundred damaged and made-up inputs: `python -m tests.fuzz` tries as many as wanted."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import parse_spec
from strategy_profiles.user_input.text import TextError, parse_json
from strategy_profiles.user_input.yaml_text import parse_yaml
from tests.fuzz.cases import Answer, SilentError, judge
from tests.fuzz.kinds import KINDS, try_case

TEXT = st.text(max_size=200) | st.text(st.sampled_from("&*[]{}:,-!<>|'\"ab0. \n"), max_size=60)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


NUM_CASES, AT_ONCE = 300, 50
SEED = 1


@pytest.mark.long(keep=5)
@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, NUM_CASES, AT_ONCE))
@pytest.mark.parametrize("kind", KINDS)
def test_readers_answer_or_refuse_in_a_sentence(kind: str, first: int) -> None:
    faults = [try_case(kind, number, SEED) for number in range(first, first + AT_ONCE)]
    assert not [str(fault) for fault in faults if fault is not None]


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(TEXT)
def test_any_text_is_a_value_or_refused(text: str) -> None:
    for parse in (parse_yaml, parse_json):
        said = ""
        try:
            parse(text)
        except TextError as error:
            said = str(error)
        assert len(said) < 400


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(["steps", "devices", "capture", "inject", "x"]), PLAIN))
def test_any_fields_are_a_spec_or_refused(document: dict[str, object]) -> None:
    said = ""
    try:
        parse_spec(document)
    except SpecError as error:
        said = str(error)
    assert len(said) < 2000


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_case_depends_on_its_seed_and_number_alone(kind: str, tmp_path: Path) -> None:
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        made.append(KINDS[kind](tmp_path / name, random.Random("7")))
    assert made[0] == made[1]


@pytest.mark.slow
def test_another_number_without_a_note_is_a_fault() -> None:
    def answer(value: float | None, *notes: str, status_message: str = "") -> Answer:
        segments = [{"steps": {"median": value}}]
        return Answer(
            {"status_message": status_message, "segments": segments}, frozenset(notes), {}
        )

    sound = answer(17.0)
    for after in (
        answer(18.0),
        answer(None),
        Answer({"status_message": "", "segments": []}, frozenset(), {}),
    ):
        with pytest.raises(SilentError):
            judge(sound, after)
    for after in (
        sound,
        answer(18.0, "a line was left out"),
        answer(18.0, status_message="It was cut off."),
    ):
        judge(sound, after)
