"""`strategy-lab sweep`: the fastest configuration of a workload on this machine."""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
from pathlib import Path

from strategy_core.cli._options import add_runs
from strategy_core.cli._plain import plain
from strategy_core.cli._run_request import add_spec_arguments, build_spec
from strategy_core.cli._watching import signals_stop
from strategy_core.launcher.launcher import Launcher
from strategy_core.planning import validation
from strategy_core.planning.inventory import probe
from strategy_core.planning.spec_text import FLAG_FIELDS, flag_of
from strategy_profiles.errors import SpecError
from strategy_profiles.extras import require
from strategy_profiles.reporting import units
from strategy_profiles.run.in_progress import refuse_beside_a_run
from strategy_profiles.user_input.arguments import number, whole
from strategy_profiles.user_input.files import write_text
from strategy_sweep.answer import sweep_answer
from strategy_sweep.axes import RECIPES, default_axes, read_axes
from strategy_sweep.contest import MOST_ROUNDS
from strategy_sweep.formats import as_csv, as_json
from strategy_sweep.markdown import as_markdown
from strategy_sweep.record import Budget, Sweep, load
from strategy_sweep.results import Results, results
from strategy_sweep.sweeping import LONGEST, Sweeping, keep_name, new_sweep
from strategy_sweep.text import by_reason, interval_text, time_left

HELP = "find the fastest configuration of a workload on this machine"
EPILOG = (
    "Each configuration runs for a few seconds as a normal run. The slower half stops after the "
    "first two rounds, the leaders are repeated until their intervals separate or the budget is "
    "used. Ctrl-C ends the sweep and keeps its runs; --resume goes on. Without --vary: strategies "
    "that need one process, numbers of devices up to this machine's, and two batches. Exit "
    "codes: 0 complete, 1 no configuration could be measured, 2 wrong request, 130 stopped."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    add_spec_arguments(parser)
    budget = Budget()
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="FIELD=VALUE,VALUE|AXES.yaml",
        help="a RunSpec field and its values, such as devices=1,2,4 or batch=64,128 (also "
        "algorithm, packs, strategy, loop, any dotted path); a plain number of devices counts "
        "replicas; or a YAML file with such fields (repeatable)",
    )
    parser.add_argument(
        "--recipe",
        choices=tuple(RECIPES),
        help="ready axes: fit-or-loop, Keras fit against own loop",
    )
    parser.add_argument(
        "--seconds",
        type=number,
        default=budget.length_s,
        metavar="S",
        help="length of the steps of one run (default: %(default)s; a run with slow steps goes on "
        f"for at most {LONGEST} times that)",
    )
    parser.add_argument(
        "--rounds",
        type=whole,
        default=budget.rounds,
        metavar="N",
        help=f"most runs of one configuration, 1 to {MOST_ROUNDS} (default: %(default)s)",
    )
    parser.add_argument(
        "--minutes",
        type=number,
        metavar="M",
        help="start no run after this time (default: no limit)",
    )
    parser.add_argument(
        "--verify-pruned",
        action="store_true",
        help="at the end, run once what predictions left out, and say whether they were right",
    )
    parser.add_argument(
        "--no-prune",
        action="store_true",
        help="also run configurations that are predicted to lose",
    )
    parser.add_argument("--resume", metavar="NAME", help="go on with a sweep that was interrupted")
    parser.add_argument("--show", metavar="NAME", help="only show what a sweep has found")
    parser.add_argument("--dry-run", action="store_true", help="list the configurations, run none")
    add_runs(parser, "folder of the runs and of the sweep's file")
    parser.add_argument("--json", action="store_true", help="the result as one JSON object")
    parser.add_argument("--markdown", metavar="FILE", help="append a report for people")
    parser.add_argument("--csv", metavar="FILE", help="write the table")


def run(args: argparse.Namespace) -> int:
    """Return 0 if the sweep is complete, 1 if nothing was measured, 130 if it was stopped."""
    runs: Path = args.runs
    if args.show is not None:
        return _end(args, results(load(runs, args.show)))
    require("tensorflow")
    sweep = _new(args) if args.resume is None else _planned(args)
    if args.dry_run:
        _tell_plan(sweep)
        return 0
    refuse_beside_a_run(runs)
    if args.resume is None:
        sweep = keep_name(sweep, runs)
    _tell_plan(sweep)
    with Launcher(forks=True) as launcher:
        sweeping = Sweeping(sweep, runs, launcher.launch, _tell_run)
        with signals_stop(sweeping.cancel, launcher.close):
            swept = sweeping.go()
    if sweeping.is_cancelled and swept.now.next_run is not None:
        at = "" if str(runs) == "runs" else f" --runs {shlex.quote(str(runs))}"
        _say(f"Stopped. To go on: strategy-lab sweep --resume {shlex.quote(sweep.name)}{at}")
        _end(args, swept)
        return 128 + signal.SIGINT
    return _end(args, swept)


def _new(args: argparse.Namespace) -> Sweep:
    base = build_spec(args)
    validation.check(base)  # before TensorFlow is imported to find the devices
    inventory = probe()
    axes = read_axes(args.vary)
    if args.recipe is not None:
        axes = RECIPES[args.recipe] | axes
    seconds = None if args.minutes is None else args.minutes * 60
    budget = Budget(args.seconds, args.rounds, seconds)
    axes = axes or default_axes(base, inventory)
    return new_sweep(
        base,
        axes,
        inventory,
        args.runs,
        budget,
        prunes=not args.no_prune,
        verifies=args.verify_pruned,
    )


def _planned(args: argparse.Namespace) -> Sweep:
    """Return the sweep to go on with; raises SpecError if another plan is asked for as well."""
    sweep = load(args.runs, args.resume)
    budget = Budget()
    request = {
        "a spec": args.spec,
        **{flag_of(field): getattr(args, field) for field in FLAG_FIELDS},
        **{f"--{name}": getattr(args, name) for name in ("set", "inject", "reconfigure", "vary")},
        "--recipe": args.recipe,
        "--seconds": args.seconds != budget.length_s,
        "--rounds": args.rounds != budget.rounds,
        "--minutes": args.minutes,
        "--verify-pruned": args.verify_pruned,
        "--no-prune": args.no_prune,
    }
    if other := [name for name, value in request.items() if value]:
        raise SpecError(
            f"--resume goes on with {sweep.name} as it was planned, without {other[0]}",
            advice=f"Leave out {units.listed(other)}, or start another sweep",
        )
    return sweep


def _tell_plan(sweep: Sweep) -> None:
    for reason, left_out in by_reason(sweep.left_out).items():
        more = len(left_out) - 1
        others = f" and {units.counted(more, 'other')}" if more else ""
        _say(f"Left out {left_out[0]}{others}: {reason}")
    labels = [item.label for item in sweep.configurations]
    _say(f"{sweep.name}: {len(labels)} configurations: {', '.join(labels)}")
    _say(f"Compared with {labels[sweep.reference]}, the spec as given")


def _tell_run(swept: Results) -> None:
    """Print the last run's step time, and the rate of its configuration over all its runs."""
    last = swept.sweep.runs[-1]
    label = swept.sweep.configurations[last.configuration].label
    if last.failure is not None:
        said = f"failed: {last.failure.rstrip('.')}"
    else:
        item = next(item for item in swept.table if item.index == last.configuration)
        rate = interval_text(item.examples_per_second_at_median)
        said = (
            f"{last.step_ms:.1f} ms; {rate} examples/s over {units.counted(len(item.runs), 'run')}"
        )
    left = time_left(swept)
    _say(f"Round {last.round}, {label}: {said}{f'; {left}' if left else ''}")


def _end(args: argparse.Namespace, swept: Results) -> int:
    if args.markdown:
        title = f"Sweep {swept.sweep.name}"
        write_text(args.markdown, as_markdown(sweep_answer(swept), title), "a")
    if args.csv:
        write_text(args.csv, as_csv(swept), "w")
    if args.json:
        print(json.dumps(as_json(swept), allow_nan=False))
    else:
        from strategy_sweep.terminal import print_sweep

        print_sweep(swept, args.runs)
    return 0 if swept.winner is not None else 1


def _say(line: str) -> None:
    print(plain(line), file=sys.stderr, flush=True)
