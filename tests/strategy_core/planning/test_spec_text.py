"""A spec as command, YAML and Python: each text gives the same spec again."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategy_core.cli._run_request import add_spec_arguments, read_request
from strategy_core.planning.spec_text import as_command, as_difference, as_python, as_yaml
from strategy_profiles.spec.run_spec import RunSpec, load_spec, parse_spec

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=12),
    st.sampled_from(["null", "1e-5", "yes", "2026-01-02", "-x", "a: b", "it's", "# no", "a b"]),
)
VALUES = st.one_of(TEXTS, st.integers(-5, 5), st.booleans(), st.floats(1e-9, 1e9), st.none())
SPECS = st.builds(
    lambda **fields: parse_spec({name: value for name, value in fields.items() if value != ()}),
    strategy=st.sampled_from(["mirrored", "tpu"]),
    devices=st.sampled_from(["auto", "cpu:4", "gpu:0,gpu:1"]),
    workload=TEXTS,
    workload_options=st.dictionaries(st.from_regex(r"[a-z]{1,6}", fullmatch=True), VALUES),
    data=st.none() | TEXTS,
    global_batch_size=st.integers(1, 9999),
    steps=st.none() | st.integers(1, 9999),
    seed=st.integers(0, 9),
    learning_rate=st.none() | st.floats(1e-12, 10),
    tpu=st.sampled_from([{}, {"topology": [2, 2, 1, 2], "split_axis": 1}]),
    capture=st.fixed_dictionaries({"overhead_budget": st.floats(0.0001, 1)}),
    inject=st.lists(
        st.fixed_dictionaries(
            {
                "replica": st.integers(0, 9),
                "ms": st.floats(1e-6, 60_000),
                "worker": st.integers(0, 3),
            }
        ),
        max_size=3,
    ),
    reconfigure=st.lists(
        st.fixed_dictionaries(
            {
                "step": st.integers(1, 999),
                "changes": st.dictionaries(
                    st.sampled_from(["devices", "capture.every_step"]), VALUES, min_size=1
                ),
            }
        ),
        max_size=3,
        unique_by=lambda change: change["step"],
    ).map(lambda changes: sorted(changes, key=lambda change: change["step"])),
)


def test_a_difference_has_a_line_for_each_side_that_names_the_field() -> None:
    late = parse_spec({"devices": "cpu:2", "inject": [{"replica": 1, "ms": 30}]})
    assert as_difference(late, late) == ""
    changed = late.with_changes({"inject": [], "devices": "cpu:4", "xla": True})
    assert as_difference(late, changed).splitlines() == [
        "- devices: cpu:2",
        "+ devices: cpu:4",
        "- inject: [{kind: delay, ms: 30.0, replica: 1, worker: 0}]",
        "+ xla: true",
    ]


def read_command(command: str) -> RunSpec:
    # A shell joins lines that end in a backslash; shlex does not.
    program, verb, *words = shlex.split(command.replace(" \\\n", ""))
    assert (program, verb) == ("strategy-lab", "run")
    parser = argparse.ArgumentParser()
    add_spec_arguments(parser)
    request = read_request(parser.parse_args(words))
    return request.base.with_changes(request.changes)


@pytest.mark.slow
@settings(max_examples=30)
@given(SPECS)
def test_a_command_gives_the_same_spec(spec: RunSpec) -> None:
    assert read_command(as_command(spec)) == spec


@settings(max_examples=30)
@given(SPECS)
def test_a_yaml_file_gives_the_same_spec(spec: RunSpec) -> None:
    file = Path("never-read.yaml")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("strategy_profiles.spec.run_spec.read_text", lambda *_: as_yaml(spec))
        assert load_spec(file) == spec


@settings(max_examples=30)
@given(SPECS)
def test_a_python_program_asks_for_the_same_spec(spec: RunSpec) -> None:
    text = as_python(spec)
    compile(text, "again.py", "exec")
    fields = text[text.index("parse_spec(\n") + len("parse_spec(\n") : text.index("\nwith ")]
    namespace: dict[str, RunSpec] = {}
    exec(f"spec = parse_spec(\n{fields}", {"parse_spec": parse_spec}, namespace)
    assert namespace["spec"] == spec


def test_a_command_names_what_differs_from_the_defaults_and_the_main_fields() -> None:
    spec = parse_spec({"devices": "cpu:4", "inject": [{"replica": 2, "ms": 30}]})
    assert as_command(spec).replace(" \\\n ", "") == (
        "strategy-lab run --strategy mirrored --devices cpu:4 --workload digits-cnn "
        "--global-batch-size 256 --steps 100 --inject delay:replica=2,ms=30.0"
    )
