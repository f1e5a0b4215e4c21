"""Names that scripts, checks and CI of others rely on. Extend them freely; take none away.

`tests/data/public_surface.json` lists them: options, columns, events, fields of a RunSpec, formats.
What a leaf of `plugins/` adds is in `public_surface.json` beside its tests.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

import strategy_profiles
from strategy_core.cli.main import main, verb_parsers
from strategy_core.planning import strategy_catalog
from strategy_profiles.analysis.summary import summarize
from strategy_profiles.exports import destinations, formats
from strategy_profiles.extras import extras
from strategy_profiles.registered import registered
from strategy_profiles.tables.schema import COLUMNS
from tests.reference import cli as cli_reference
from tests.reference import run_folder as run_reference
from tests.reference import run_spec as spec_reference
from tests.synthetic import write_run

FILE = Path(__file__).parent / "data" / "public_surface.json"
OF_LEAVES = sorted(Path(__file__).parent.glob("plugins/*/public_surface.json"))
SUMMARY = "schema_version run status environment segments"
SEGMENT = (
    "segment strategy num_replicas global_batch_size steps replicas collectives bytes_per_step "
    "placement straggler loss capture"
)
TPU = (
    "configure_virtual_cores TPUClusterResolver connect_to_cluster initialize_tpu_system "
    "DeviceAssignment TPUStrategy runner mesh Pod build"
)
PROGRAM = f"""
import strategy_core as lab
assert callable(lab.record) and callable(lab.trace_contexts) and lab.RecorderCallback
from strategy_core import tpu
for name in {TPU.split()}:
    getattr(tpu, name)
"""


def surface() -> dict[str, list[str]]:
    """Every public name by what it belongs to: a verb, a table, an event, the RunSpec."""
    found: dict[str, list[str]] = {}
    for verb, parser in verb_parsers().items():
        written = [text for text, _ in cli_reference.options(parser)]
        words = {word for text in written for word in text.replace(",", "").split()}
        found[f"strategy-lab {verb}"] = sorted(word for word in words if word.startswith("-"))
    for table, columns in COLUMNS.items():
        found[f"table {table}"] = sorted(column.name for column in columns)
    for kind, struct in run_reference.structs().items():
        found[f"record {kind}"] = sorted(field.name for field in msgspec.structs.fields(struct))
    for section, model in spec_reference.sections().items():
        names = (name for name, _, _ in spec_reference.fields(model))
        found[f"spec {section}"] = sorted(names)
    found["strategies"] = list(strategy_catalog.names())
    found["formats"] = sorted(formats())
    found["destinations"] = sorted(destinations())
    found["extras"] = sorted(extras())
    found["imports"] = sorted(registered("imports"))
    return found


def minus(names: Mapping[str, list[str]], others: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The names that are not among the others, of every owner that has one."""
    left = {owner: sorted(set(of) - set(others.get(owner, ()))) for owner, of in names.items()}
    return {owner: of for owner, of in left.items() if of}


def listed(*files: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for file in files:
        for owner, names in json.loads(file.read_text("utf-8")).items():
            found[owner] += names
    return found


def test_no_public_name_is_gone() -> None:
    assert minus(listed(FILE, *OF_LEAVES), surface()) == {}, "scripts of others use these names"


def test_every_public_name_is_listed() -> None:
    """A name that was added on purpose is listed by `python -m tests.test_public_surface`."""
    added = minus(surface(), listed(FILE, *OF_LEAVES))
    assert added == {}, "list them: python -m tests.test_public_surface"


def test_a_summary_has_its_fields(tmp_path_factory: pytest.TempPathFactory) -> None:
    run = write_run(tmp_path_factory.mktemp("run") / "mine")
    summary = summarize(strategy_profiles.load(run))
    assert set(SUMMARY.split()) <= set(summary)
    assert set(SEGMENT.split()) <= set(summary["segments"][0])


def test_a_wrong_request_ends_with_2_and_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--strategy", "no-such"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.tf
def test_programs_find_the_names_of_the_python_interface() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


if __name__ == "__main__":
    FILE.write_text(json.dumps(minus(surface(), listed(*OF_LEAVES)), indent=1) + "\n")
