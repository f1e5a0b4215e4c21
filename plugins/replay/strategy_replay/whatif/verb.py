"""`strategy-lab what-if`: the predicted step beside the measured one, from a replay of its ops."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import strategy_profiles
from strategy_profiles.analysis.compare.repetitions import MIN_PAIRS
from strategy_profiles.errors import LabError
from strategy_profiles.extras import require
from strategy_profiles.user_input.arguments import number, whole

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile
    from strategy_replay.engine.edits import Edit

HELP = "predict a step with something changed, by replaying its captured ops"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", metavar="RUN", help="its folder")
    parser.add_argument(
        "--segment", type=whole, help="number of the segment (default: the run's last)"
    )
    parser.add_argument("--remove-delay", action="store_true", help="injected delays take no time")
    parser.add_argument(
        "--without-straggler",
        action="store_true",
        help="the late replica works as long as the mean of the others",
    )
    parser.add_argument("--input-free", action="store_true", help="reading a batch takes no time")
    parser.add_argument(
        "--faster",
        action="append",
        default=[],
        metavar="KIND=2",
        help="ops of this kind are 2 times as fast: a type of op such as Conv2D, compute, "
        "communication, or tf.print; KIND=inf: they take no time; repeatable",
    )
    parser.add_argument(
        "--link",
        type=number,
        metavar="2",
        help="multiply the link's bandwidth by this; its latency stays the same",
    )
    parser.add_argument(
        "--bytes-per-pack",
        type=whole,
        metavar="N",
        help="reduce gradients in packs of this size (collective-ring); 0: one pack",
    )
    parser.add_argument("--global-batch-size", type=whole, metavar="N", help="examples per step")
    parser.add_argument(
        "--overlap",
        action="store_true",
        help="the collectives of gradients run while the backward pass goes on",
    )
    parser.add_argument(
        "--algorithm",
        metavar="NAME",
        help="gradients are reduced by collective-ring, nccl, tree, hierarchical-copy or "
        "reduction-to-one-device, by arithmetic on messages and bytes",
    )
    parser.add_argument(
        "--xla",
        action="store_true",
        help="refused, as XLA runs other ops than the recorded: measure it with --try xla=true",
    )
    parser.add_argument(
        "--critical-path",
        action="store_true",
        help="also what the step of median length consists of, by kind of op, with the slack of "
        "the ops beside it",
    )
    parser.add_argument(
        "--slowdowns",
        action="store_true",
        help="also what differences between replicas cost: S, by type of op, by replica",
    )
    parser.add_argument(
        "--try",
        dest="tried",
        action="append",
        default=[],
        metavar="FINDING|KEY=VALUE",
        help="make a change and measure it: new runs without and with it, in turns, a few seconds "
        "each, then prediction and measurement side by side. The change is the one that a finding "
        "of the run proposes, such as straggler, or a RunSpec field; repeatable",
    )
    parser.add_argument(
        "--pairs",
        type=whole,
        default=MIN_PAIRS,
        metavar="N",
        help="with --try: runs per side (default: %(default)s; more make the interval narrower)",
    )
    parser.add_argument("--json", action="store_true", help="the prediction as one JSON object")


def run(args: argparse.Namespace) -> int:
    from rich.console import Console

    from strategy_core.cli._answer_text import print_answer, print_parts
    from strategy_core.cli._plain import plain_text
    from strategy_profiles.analysis.steps import step_times
    from strategy_replay.engine.path_shares import path_table
    from strategy_replay.engine.replays import replays
    from strategy_replay.engine.what_if import what_if
    from strategy_replay.whatif.predictions import critical_path, predictions, slower
    from strategy_replay.whatif.slowdowns import slowdowns

    profile = strategy_profiles.load(args.run_folder)
    segment = _segment(profile, args.segment)
    if args.tried:
        return _try(args, profile, segment)
    predicted = what_if(profile, segment, _edits(args, profile, segment))
    known = replays(profile, segment)
    path = path_table(known.middle.graph) if args.critical_path else None
    differences = slowdowns(known) if args.slowdowns else None
    if args.json:
        document = {"schema_version": 1, "run": profile.name, **asdict(predicted)}
        if path is not None:
            document["critical_path"] = [asdict(item) for item in path]
        if differences is not None:
            document["slowdowns"] = asdict(differences)
        print(json.dumps(document))
        return 0
    out, changed = Console(emoji=False), [predicted] if predicted.edits else []
    out.print(plain_text(f"{profile.name}, segment {segment}", "bold"))
    print_answer(predictions(predicted, changed, step_times(profile, segment).median_ms), out)
    if path is not None:
        print_parts([critical_path(path)], out)
    if differences is not None:
        print_parts([slower(differences)], out)
    return 0


def _try(args: argparse.Namespace, profile: Profile, segment: int) -> int:
    require("tensorflow")
    from strategy_replay.trying.terminal import try_it

    flags = (args.remove_delay, args.without_straggler, args.input_free, args.overlap, args.xla)
    values = (args.link, args.bytes_per_pack, args.global_batch_size, args.algorithm)
    if any(flags) or args.faster or any(each is not None for each in values):
        raise LabError(
            "--try names its change itself; --remove-delay and the like only change a replay",
            advice="Write --try straggler, or --try KEY=VALUE with a field of the RunSpec",
        )
    return try_it(profile, segment, args.tried, args.pairs, args.json)


def _segment(profile: Profile, wanted: int | None) -> int:
    if wanted is not None:
        return wanted
    if not profile.segments:
        raise LabError(
            f"{profile.name} has no step to replay: it ended before its strategy was created",
            advice="Choose a run that has trained, or run this one again",
        )
    return profile.segments[-1].segment


def _edits(args: argparse.Namespace, profile: Profile, segment: int) -> list[Edit]:
    from strategy_replay.engine.batch_fit import batch_change
    from strategy_replay.engine.collective_edits import faster_link, other_packs
    from strategy_replay.engine.edits import InputFree, RemoveDelay
    from strategy_replay.engine.other_algorithm import other_algorithm
    from strategy_replay.engine.overlapped import overlapped
    from strategy_replay.engine.replays import replays
    from strategy_replay.engine.spec_edits import refused_xla
    from strategy_replay.engine.straggler import average_straggler

    edits: list[Edit] = []
    if args.xla:
        edits.append(refused_xla())
    if args.remove_delay:
        edits.append(RemoveDelay())
    if args.without_straggler:
        edits.append(average_straggler(profile, segment))
    if args.input_free:
        edits.append(InputFree())
    known = replays(profile, segment)
    if args.link is not None:
        edits.append(faster_link(known, args.link))
    if args.bytes_per_pack is not None:
        edits.append(other_packs(known, args.bytes_per_pack))
    if args.global_batch_size is not None:
        edits.append(batch_change(profile, segment, args.global_batch_size))
    if args.algorithm is not None:
        edits.append(other_algorithm(known, args.algorithm))
    if args.overlap:
        edits.append(overlapped(known))
    return [*edits, *(_faster(text) for text in args.faster)]


def _faster(text: str) -> Edit:
    from strategy_replay.engine.edits import Faster

    kind, _, times = text.partition("=")
    try:
        factor = float(times)
    except ValueError:
        factor = 0.0
    if not kind or not factor > 0:
        raise LabError(
            f"--faster takes KIND=TIMES with a number above 0, received {text!r}",
            advice="For example --faster Conv2D=2",
        )
    return Faster(kind, factor)
