"""Text from a person becomes a plain value, or one sentence, within limits of time and memory."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec, load_spec, parse_spec
from strategy_profiles.user_input.text import (
    MAX_BYTES,
    MAX_DEPTH,
    TextError,
    parse_json,
    parse_whole,
    quoted,
    whole_or_none,
)
from strategy_profiles.user_input.yaml_text import parse_yaml

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
WRONG_YAML = {
    "a list that holds itself": ("&a [*a]", "has an alias that contains itself"),
    "a mapping that holds itself": ("&a {b: *a}", "has an alias that contains itself"),
    "a kilobyte of aliases": (BOMB, "has more than 20,000 values after alias expansion"),
    "merge keys of aliases": (
        "a: &a {x: 1}\nb: {<<: [" + "*a," * 30_000 + "]}",
        "more than 20,000",
    ),
    "many brackets": ("[" * 90_000, "more than 32 levels"),
    "too long": ("x" * (MAX_BYTES + 1), "is longer than"),
    "a tag whose text is no number": (
        "!!int x",
        "cannot be read: invalid literal for int() with base 10: 'x'",
    ),
    "5,000 digits": ("9" * 5000, "cannot be read: Exceeds the limit"),
    "more than 64 bits": ("9" * 30, "more than 64 bits"),
    "infinity": (".inf", "not finite"),
    "a set": ("!!set {a, b}", "tag 'tag:yaml.org,2002:set'"),
    "a Python object": ("!!python/object/apply:os.system [ls]", "tag 'tag:yaml.org,2002:python"),
    "a key that is a number": ("{1: a}", "key 1, which is not text"),
    "a key that is a list": ("{[1]: a}", "is not YAML: found unhashable key"),
    "an unknown alias": ("*a", "is not YAML: found undefined alias"),
    "a control character": ("a\x01", "is not YAML: "),
    "an open bracket": ("{steps: [}", "is not YAML: expected the node content, but found '}'"),
}
WRONG_JSON = {
    "many brackets": ("[" * 90_000, "more than 32 levels"),
    "brackets that close": ("[" * 40 + "]" * 40, "more than 32 levels"),
    "5,000 digits": ("9" * 5000, "cannot be read: Exceeds the limit"),
    "an exponent": ("1e999", "not finite"),
    "NaN": ("NaN", "finite numbers only"),
    "half of a character": (r'"\ud800"', "lone surrogate"),
    "half of a character as a key": (r'{"\ud800": 1}', "lone surrogate"),
    "cut": ("{", "is not JSON: Expecting property name"),
}


@pytest.mark.parametrize("case", WRONG_YAML)
def test_wrong_yaml_is_refused_in_a_sentence(case: str) -> None:
    text, said = WRONG_YAML[case]
    with pytest.raises(TextError) as refused:
        parse_yaml(text)
    assert said in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("case", WRONG_JSON)
def test_wrong_json_is_refused_in_a_sentence(case: str) -> None:
    text, said = WRONG_JSON[case]
    with pytest.raises(TextError) as refused:
        parse_json(text)
    assert said in str(refused.value)


def test_yaml_of_plain_values_is_parsed() -> None:
    text = "a: &x [1, 2.5, true, null, text]\nb: *x\nc: {<<: {d: 1}, e: 2020-01-01}"
    row = [1, 2.5, True, None, "text"]
    assert parse_yaml(text) == {"a": row, "b": row, "c": {"d": 1, "e": "2020-01-01"}}
    assert parse_yaml("2020-13-45") == "2020-13-45"
    assert parse_yaml("") is None
    assert parse_yaml("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None


def test_whole_numbers_are_read_from_a_text() -> None:
    assert [parse_whole(text) for text in ("0", " 7 ", "007")] == [0, 7, 7]
    for text in ("", "-1", "²", "1_0", "9" * 5000, "0" * 5000 + "9" * 20):
        assert whole_or_none(text) is None
    with pytest.raises(TextError, match="is more than 100"):
        parse_whole("101", most=100)


def test_a_quoted_value_is_short() -> None:
    assert quoted("short") == "'short'"
    assert len(quoted("x" * 10**6)) < 100
    assert quoted(10**5000) == "a number of more than 300 digits"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"steps": 0}, "steps=0 is not valid: it must be at least 1."),
        ({"steps": 10**30}, "it must be less than 2147483648"),
        ({"steps": "many"}, "steps='many' is not valid: it must be a whole number."),
        ({"steps": 1.5}, "steps=1.5 is not valid: it must be a whole number."),
        ({"learning_rate": float("inf")}, "learning_rate=inf is not valid: it must be a finite"),
        ({"capture": 3}, "capture=3 is not valid: it must be a mapping of fields."),
        ({"capture": {"window_steps": "2020-13-45"}}, "window_steps='2020-13-45' is not valid"),
        ({"capture": {"marks": "maybe"}}, "it must be true or false."),
        ({"loop": "do"}, "loop='do' is not valid: it must be one of 'custom', 'fit'."),
        ({"inject": [{"ms": 3}]}, "inject.0.replica is missing"),
        ({"inject": 3}, "inject=3 is not valid: it must be a list."),
        ({"devices": "cpu:" + "9" * 5000}, "is not valid. Write 'auto'"),
        ({"nope": 1}, "A run has no field 'nope'. Fields: bytes_per_pack, capture,"),
        ({"tpu": {"cores": 2}}, "'tpu.cores'. Fields of tpu: cores_per_replica, split_axis,"),
        ({"inject": [{"replica": 0, "ms": 3, "at": 1}]}, "Fields of inject.0: kind, ms, replica,"),
    ],
)
def test_an_error_names_the_wrong_field_and_its_value(
    document: dict[str, object], said: str
) -> None:
    with pytest.raises(SpecError) as refused:
        parse_spec(document)
    assert said in str(refused.value)
    assert "Received" not in str(refused.value)
    assert len(str(refused.value)) < 500


def test_a_spec_file_that_is_no_readable_text_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "large.yaml").write_bytes(b"# " * MAX_BYTES)
    (tmp_path / "latin.yaml").write_bytes(b"data: \xe9")
    (tmp_path / "list.json").write_text("[1]")
    for name, said in {
        "pipe.yaml": "pipe.yaml is a pipe, not a file",
        "large.yaml": "large.yaml is larger than 100,000 bytes",
        "latin.yaml": "latin.yaml is not text in UTF-8",
        "list.json": "list.json holds [1] instead of fields",
        "none.yaml": "none.yaml does not exist",
        "": "is a folder, not a file",
        "x" * 300: "cannot be read: File name too long",
        "null\0byte": "embedded null",
    }.items():
        with pytest.raises(SpecError) as refused:
            load_spec(tmp_path / name if name else tmp_path)
        assert said in str(refused.value)
    with pytest.raises(SpecError, match="cannot be read: Could not determine home directory"):
        load_spec("~nosuchuser/spec.yaml")


def test_a_spec_file_as_json_and_as_yaml_is_the_same(tmp_path: Path) -> None:
    spec = RunSpec(steps=7, devices="cpu:2")
    (tmp_path / "spec.json").write_text(json.dumps(spec.to_json()))
    (tmp_path / "spec.yaml").write_text("steps: 7\ndevices: cpu:2\n")
    assert load_spec(tmp_path / "spec.json") == load_spec(tmp_path / "spec.yaml") == spec
