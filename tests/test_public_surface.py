"""Names that scripts, checks and CI of others rely on. Extend them freely; take none away."""

from __future__ import annotations

import subprocess
import sys

import pytest

from strategy_core.cli import _reference
from strategy_core.cli.main import main, verb_parsers
from strategy_core.planning import strategy_catalog
from strategy_lab import profiles
from strategy_lab.profiles.analysis.summary import summarize
from strategy_lab.profiles.exports import destinations, formats
from strategy_lab.profiles.tables.schema import COLUMNS
from tests.synthetic import write_run

SPEC_OPTIONS = (
    "[SPEC.yaml] --strategy --devices --workers --parameter-servers --workload --data "
    "--global-batch-size --steps --seed --loop --cross-device-ops --set --inject --reconfigure "
    "-o --output --json"
)
VERBS = {
    "ui": "--port --runs --host --no-browser --no-token --allow-host",
    "devices": "--json",
    "run": f"{SPEC_OPTIONS} --repeat --interleave",
    "worker": f"{SPEC_OPTIONS} --cluster --index --start-timeout --resume",
    "change": "RUN [KEY=VALUE ...] --stop --within",
    "collect": "FOLDER [FOLDER ...] -o --output",
    "summary": "RUN --json",
    "compare": "RUN [RUN ...] --against --json --fail-on --segment-a --segment-b",
    "baseline": "RUN [RUN ...] -o --output --segment",
    "gate": "RUN [RUN ...] --baseline --only --allow --steady-machine --segment --json --markdown "
    "--benchmark-json --bencher-json",
    "export": "RUN --format -o --output",
    "sql": "RUN SQL --json --csv",
    "doctor": "--json --runs",
    "mcp": "--runs --allow-run --http",
    "import": "PATH -o --output",
    "predict": "RUN [RUN ...] --replicas --link --algorithm --batch-per-replica --json",
    "what-if": "RUN --segment --remove-delay --without-straggler --input-free --faster "
    "--critical-path --slowdowns --json",
    "trace": "-o --output --runs --set -m -c",
    "contexts": "[PROGRAM] -o --output --strategy --devices --again --json",
}
TABLES = {
    "segments": "segment strategy num_replicas num_workers global_batch_size first_step started_ns "
    "spec",
    "steps": "segment step start_ns wall_ms loss examples captured",
    "replica_steps": "step worker replica device wall_ms compute_ms wait_ms transfer_ms input_ms "
    "idle_ms clock",
    "collectives": "step worker replica op instance group_size bytes start_ns wait_ms transfer_ms "
    "algbw_gbps busbw_gbps source",
    "transfers": "step tensor bytes send_device recv_device duration_ms source",
    "placement": "segment kind name op device replica bytes",
    "spans": "step worker device replica name op category start_ns duration_ns clock",
    "contexts": "seq thread context replica call file line depth parent",
    "memory": "worker device step bytes_in_use peak_bytes source",
    "resources": "at_ns interval_ms worker generation cores resident_bytes num_cores busy_cores "
    "stolen_cores",
    "marks": "segment step worker replica device compute_ms wait_ms reduce_ms start_ns",
    "core_steps": "step worker replica core device wall_ms compute_ms wait_ms transfer_ms input_ms "
    "idle_ms clock",
    "causes": "segment step worker kind name detail replica device count total_ms held_ms bytes",
    "input_stages": "segment step worker name dataset count total_ms self_ms parallelism "
    "buffer_size buffered autotuned",
    "tensors": "segment step worker device name op bytes start_ns end_ns source",
    "closures": "segment step worker scheduled_ns start_ns finished_ns wall_ms queue_ms input_ms "
    "pull_ms compute_ms push_ms return_ms",
    "served": "segment name role server process device shape bytes part num_parts pull_bytes "
    "push_bytes",
    "links": "segment step worker generation at_ns from_worker to_worker bytes packets "
    "retransmitted_bytes rtt_ms opened source",
}
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


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_its_options(verb: str) -> None:
    written = [text for text, _ in _reference.options(verb_parsers()[verb])]
    words = {word for text in written for word in text.replace(",", "").split()}
    assert set(VERBS[verb].split()) <= words


@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_its_columns(table: str) -> None:
    names = [column.name for column in COLUMNS[table]]
    assert set(TABLES[table].split()) <= set(names)


def test_strategies_and_formats_have_their_names() -> None:
    assert strategy_catalog.names() == (
        "default",
        "one-device",
        "mirrored",
        "central-storage",
        "multi-worker-mirrored",
        "parameter-server",
        "tpu",
    )
    assert set(formats()) >= {"html", "chrome-trace", "csv", "parquet", "json", "xplane"}
    assert set(destinations()) >= {"mlflow", "otlp"}


def test_a_summary_has_its_fields(tmp_path_factory: pytest.TempPathFactory) -> None:
    run = write_run(tmp_path_factory.mktemp("run") / "mine")
    summary = summarize(profiles.load(run))
    assert set(SUMMARY.split()) <= set(summary)
    assert set(SEGMENT.split()) <= set(summary["segments"][0])


def test_a_wrong_request_ends_with_2_and_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--strategy", "no-such"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.tf
def test_programs_find_the_names_of_the_python_interface() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
