"""`strategy-lab worker`: one process of a run whose others are started on other hosts.

The same line on every host makes one run. What differs between hosts comes from the engine that
starts them (`strategy_core.cluster.discovery.resolve`), or by --index.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from strategy_core.cli import run as run_here
from strategy_core.cli._options import add_output
from strategy_core.cli._run_request import Request, add_spec_arguments, read_request
from strategy_core.cli._watching import report, watch
from strategy_core.cluster.discovery.resolve import RequestedCluster, forms, resolve
from strategy_core.cluster.discovery.task_address import OwnTask, strategy_in_cluster
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.extras import require
from strategy_profiles.registered import registered
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.user_input.arguments import number, whole

HELP = "run one process of a cluster on this host, under TF_CONFIG, Slurm or Kubernetes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_spec_arguments(parser)
    parser.add_argument(
        "--cluster",
        default="auto",
        metavar="CLUSTER",
        help=f"source of the cluster's addresses: {', '.join([forms(), *registered('engines')])} "
        "(default: auto)",
    )
    parser.add_argument(
        "--index", type=whole, metavar="N", help="number of this process in the cluster"
    )
    parser.add_argument(
        "--start-timeout",
        type=number,
        metavar="SECONDS",
        help="timeout for the other processes to start, in seconds (default: 60)",
    )
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="CHECKPOINT",
        help="start from this training state, the same on every host: RUN/worker-0-0/checkpoint",
    )
    add_output(
        parser,
        "the run folder, shared by all hosts, or one on each host, to be merged with `collect`",
    )
    parser.add_argument("--json", action="store_true", help="events and the summary as JSON lines")


def run(args: argparse.Namespace) -> int:
    """Return 0 if the run did what was asked, 1 if it failed, 2 if the request was wrong."""
    require("tensorflow")
    if args.cluster == "tpu":
        return _on_tpu(args)
    request = request_of(args)
    if engine := registered("engines").get(args.cluster):
        return _placed_by(engine.load(), args, request)
    own_task = resolve(args.cluster, _requested_cluster(request), index=args.index)
    spec = request.spec(own_task.spec_changes(request.value("strategy")))
    os.environ.update(own_task.environment)
    folder = args.output or default_folder(own_task, spec)
    with Launcher() as launcher:
        handle = launcher.join(own_task, spec, folder, args.resume, _report)
        watch(handle, args.json, own_task.process)
    return report(handle, args.json, with_summary=own_task.process == 0)


def request_of(args: argparse.Namespace) -> Request:
    """What was asked of the run; the cluster tells the rest."""
    request = read_request(args)
    if args.start_timeout is not None:
        request.changes["cluster.start_timeout_s"] = args.start_timeout
    return request


def default_folder(own_task: OwnTask, spec: RunSpec) -> Path:
    """Return the default run folder, which is the same on every host of the run."""
    return Path("runs") / f"{Path(spec.workload).stem}-{spec.strategy}-{own_task.run_id(spec)}"


def _on_tpu(args: argparse.Namespace) -> int:
    """TPU hosts run servers of TensorFlow's own: one process asks its resolver, and drives them."""
    args.strategy = args.strategy or "tpu"
    args.devices = args.devices or "tpu"
    return run_here.run(args)


def _placed_by(engine: Any, args: argparse.Namespace, request: Request) -> int:
    """Have an engine that a package adds place every process of the run."""
    num_workers = int(request.value("workers"))
    strategy = strategy_in_cluster(request.value("strategy"), has_servers=False)
    spec = request.spec({"strategy": strategy, "workers": num_workers})
    outcome = engine(spec, args.output, args.resume)
    if outcome.message:
        print(f"strategy-lab: {' '.join(outcome.message.split())}", file=sys.stderr)
    print(f"Recorded in {outcome.folder}")
    return 0 if outcome.status in ("finished", "stopped") else 1


def _requested_cluster(request: Request) -> RequestedCluster:
    return RequestedCluster(
        workers=int(request.value("workers")),
        parameter_servers=int(request.value("parameter_servers")),
        timeout_s=float(request.value("cluster.start_timeout_s")),
    )


def _report(sentence: str) -> None:
    print(f"strategy-lab: {sentence}", file=sys.stderr, flush=True)
