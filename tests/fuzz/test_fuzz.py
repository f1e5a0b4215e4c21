"""A few hundred damaged runs and wrong requests: `python -m tests.fuzz` tries as many as wanted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import parse_spec
from strategy_profiles.user_input.text import TextError, parse_json
from strategy_profiles.user_input.yaml_text import parse_yaml
from tests.fuzz import ledger
from tests.fuzz.case import Cases
from tests.fuzz.judge import silent_differences
from tests.fuzz.runs import write_runs

TEXT = st.text(max_size=200) | st.text(st.sampled_from("&*[]{}:,-!<>|'\"ab0. \n"), max_size=60)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


NUM_CASES = 300
SEED = 1


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Cases:
    root = tmp_path_factory.mktemp("fuzz")
    return Cases(SEED, write_runs(root / "runs"), root / "scratch")


@pytest.mark.long(keep=2)
@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, NUM_CASES, 50))
def test_readers_answer_or_refuse_in_a_sentence(cases: Cases, first: int) -> None:
    for number in range(first, first + 50):
        result = cases.run(number)
        assert not result.faults, result.to_json()


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
def test_a_case_depends_on_its_seed_and_number_alone(tmp_path: Path) -> None:
    runs = write_runs(tmp_path / "runs")
    made = [Cases(7, runs, tmp_path / name).run(3).made for name in ("one", "two")]
    assert made[0] == made[1]


def test_another_number_without_a_note_is_a_fault() -> None:
    def summary(value: float | None, status: str = "finished") -> dict[str, object]:
        return {"status": status, "segments": [{"steps": {"median": value}}]}

    sound = summary(17.0)
    assert silent_differences(sound, summary(18.0), (), ()) == [".0.steps.median: 17.0 -> 18.0"]
    assert silent_differences(sound, {"status": "finished", "segments": []}, (), ())
    assert not silent_differences(sound, summary(17.0), (), ())
    assert not silent_differences(sound, summary(None), (), ())
    assert not silent_differences(sound, summary(18.0), (), ("a line was left out",))
    assert not silent_differences(sound, summary(18.0, "incomplete"), (), ())


def test_rounds_go_on_where_the_last_ended_and_add_up(tmp_path: Path) -> None:
    file = tmp_path / "rounds.jsonl"
    fault = {"kind": "hang", "target": "sql"}
    for first, faults in ((0, []), (2, [fault])):
        assert ledger.next_case(ledger.read(file), 5) == first
        done = ledger.Round(5, first, first, "abc")
        done.add({"outcomes": {"summary": "answered"}, "faults": []}, 30.0)
        done.add({"outcomes": {"sql": "refused"}, "faults": faults}, 60.0)
        ledger.append(file, done)
    rounds = ledger.read(file)
    said = "4 cases: 4 readings, 2 answered, 2 refused in a sentence, 1 faults"
    assert ledger.describe(rounds) == [
        f"abc: {said}",
        f"in all {said} in 2 minutes",
        "  1 hang in sql",
    ]
    assert ledger.next_case(rounds, 6) == 0
    with pytest.raises(ValueError, match="twice"):
        ledger.describe([*rounds, rounds[0]])
