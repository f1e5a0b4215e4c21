"""How long analyses of a profile of 10,000,000 spans take, and their memory.

    python -m benchmarks.big_profile [--quick] [--only ANALYSIS] [--rounds 3] [--spans 10000000]
        [--spans-per-step 400]

Each analysis is a fresh process, interpreter start and printing included: `summary`, self times of
ops by SQL, the report, a comparison with itself, the analyses of leaves, and the timeline (layout,
then the whole run cut to 1,400 pixels, one capture window cut likewise, and a
search). Of the replay: a what-if with the critical path, what differences between replicas cost,
the gains of the findings, and the slack of a step's ops. The graph that it needs is made from the
first captured step: each op waits for the one before it on its device. A capture window has 10
steps: those of a small model make 2,500 windows, of one with 10,000 spans a step 100. The floor is
what PyArrow alone needs to read the two columns of that query. On a busy machine compare processor
seconds.
Bounds: 3 s and 1.5 GB each.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from benchmarks.measuring.record import record_figure
from strategy_profiles.capture.graph import Node, write_graph
from strategy_profiles.run.events import WindowCaptured
from strategy_profiles.run.layout import WorkerFolder
from strategy_profiles.tables.store import Profile
from tests.plugins.leaves import from_doors
from tests.synthetic import write_run

SPANS = ("step", "device", "name", "op", "start_ns")

STEPS_PER_WINDOW = 10
BOUND_S = 3.0
BOUND_BYTES = 1.5e9

TIMELINE = """
import sys
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline import cut_view, find_spans, lay_out

timeline = lay_out(Profile.load(sys.argv[1]))
cut_view(timeline, 0, timeline.length_ns, 1400)
cut_view(timeline, timeline.steps["start"][0], timeline.steps["end"][9], 1400)
find_spans(timeline, "Conv")
print(timeline.num_spans)
"""
FLOOR = """
import sys
from pathlib import Path
import pyarrow.parquet as pq

worker = Path(sys.argv[1], "worker-0-0")
# The copies of 16 windows each, then the windows without one.
files = sorted(worker.glob("merged-*/spans.parquet"))
files += sorted(worker.glob("window-*/spans.parquet"))[16 * len(files):]
tables = [pq.ParquetFile(file).read(["op", "duration_ns"]) for file in files]
print(sum(table.num_rows for table in tables))
"""
SLACK = """
import sys
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline import lay_out
from strategy_profiles.timeline.slack import step_slack

profile = Profile.load(sys.argv[1])
print(step_slack(profile, lay_out(profile), int(sys.argv[2])).slack_ns)
"""
BY_OP = "select op, count(*), sum(duration_ns) from spans group by 1 order by 3 desc"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="100,000 spans, one round")
    parser.add_argument("--spans", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--spans-per-step", type=int, default=400)
    parser.add_argument("--only", action="append", metavar="ANALYSIS", help="repeatable")
    options = parser.parse_args()
    spans, rounds = (100_000, 1) if options.quick else (options.spans, options.rounds)
    per_step = options.spans_per_step
    windows = max(spans // per_step // STEPS_PER_WINDOW, 1)
    with tempfile.TemporaryDirectory() as scratch:
        run = Path(scratch) / "run"
        write_run(
            run,
            steps=windows * STEPS_PER_WINDOW + 20,
            windows=windows,
            checksums=True,
            ops_per_step=per_step // 4 - 3,
        )
        captured_step = add_graph(run)
        lab = [sys.executable, "-m", "strategy_core"]
        analyses = {
            "summary": [*lab, "summary", str(run), "--json"],
            "ops by SQL": [*lab, "sql", str(run), BY_OP],
            "report": [*lab, "export", str(run), "--format", "html", "-o", f"{scratch}/a.html"],
            "compare": [*lab, "compare", str(run), str(run)],
            "timeline": [sys.executable, "-c", TIMELINE, str(run)],
            "what-if": [*lab, "what-if", str(run), "--faster", "compute=2", "--critical-path"],
            "slowdowns": [*lab, "what-if", str(run), "--slowdowns"],
            "gains": [*lab, "summary", str(run), "--gains"],
            "slack": [sys.executable, "-c", SLACK, str(run), str(captured_step)],
            "floor": [sys.executable, "-c", FLOOR, str(run)],
        }
        paths = {"RUN": str(run), "NEW": f"{scratch}/new"}
        for commands in from_doors("OF_A_LARGE_RUN"):
            for name, command in commands.items():
                analyses[name] = [*lab, *(paths.get(part, part) for part in command)]
        peaks = []
        for name in options.only or analyses:
            command = analyses[name]
            measured = []
            for _ in range(rounds):
                for made in ("a.html", "new"):  # an export overwrites no file
                    Path(scratch, made).unlink(missing_ok=True)
                measured.append(_measure(command))
            _report(name, measured)
            peaks += [peak for *_, peak in measured]
        record_figure("memory", max(peaks) / 1e9, "GB")


def add_graph(run: Path) -> int:
    """Write the graph of the run's first captured step, which made-up runs do not have.

    Returns the step.
    """
    profile = Profile.load(run)
    worker = WorkerFolder(run / "worker-0-0", 0, 0)
    window = next(item for item in profile.events(WindowCaptured))
    spans = pa.concat_tables(
        profile.parts("spans", SPANS, lambda rows: rows, [window.first_step])
    ).unify_dictionaries()
    rows = sorted(spans.to_pylist(), key=lambda row: row["start_ns"])
    nodes: dict[tuple[str, str], Node] = {}
    before: dict[str, str] = {}
    for row in rows:
        device, name, op = row["device"], row["name"], row["op"]
        if device and op and row["step"] == window.first_step and (device, name) not in nodes:
            inputs = (before[device],) if device in before else ()
            nodes[device, name] = Node(len(nodes), 0, name, op, device, inputs)
            before[device] = name
    write_graph(list(nodes.values()), worker.graph(0))
    return window.first_step


def _measure(command: list[str]) -> tuple[float, float, int]:
    """Seconds, processor seconds, and the peak memory in bytes of the process."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}.")
    taken = time.perf_counter() - begun
    return taken, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024  # KiB on Linux


def _report(name: str, rounds: list[tuple[float, float, int]]) -> None:
    times, processor, peaks = zip(*rounds, strict=True)
    median, peak = statistics.median(times), max(peaks)
    record_figure(name, times, "s")
    print(
        f"{name:>10}: {median:.2f} s ({min(times):.2f} to {max(times):.2f}), "
        f"{median / BOUND_S:.2f} of {BOUND_S} s; "
        f"{statistics.median(processor):.2f} s of processors; {peak / 1e6:,.0f} MB, "
        f"{peak / BOUND_BYTES:.2f} of {BOUND_BYTES / 1e9} GB",
        flush=True,
    )


if __name__ == "__main__":
    main()
