"""JSON: the summary and every table, strictly JSON."""

from __future__ import annotations

import json
from pathlib import Path

import strategy_profiles
from strategy_profiles.exports import write
from strategy_profiles.tables.schema import SCHEMA_VERSION, TABLES
from tests.synthetic import HOSTILE, write_run


def _strict(path: Path) -> dict:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


def test_the_json_export_has_summary_and_tables(straggling, target: Path) -> None:
    document = _strict(write(straggling, "json", target))
    assert document["schema_version"] == SCHEMA_VERSION
    assert document["summary"] == json.loads(json.dumps(straggling.summary()))
    assert list(document["tables"]) == list(TABLES)
    for name, schema in TABLES.items():
        columns = document["tables"][name]
        assert list(columns) == schema.names
        assert {len(values) for values in columns.values()} == {straggling.table(name).num_rows}


def test_the_json_export_keeps_hostile_text_and_has_null_for_nan(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=30, prefix=HOSTILE, nan_loss_from=5)
    profile = strategy_profiles.load(run)
    document = _strict(write(profile, "json", tmp_path / "out.json"))
    assert document["tables"]["spans"]["name"][0].startswith(HOSTILE)
    assert document["tables"]["steps"]["loss"][5] is None
