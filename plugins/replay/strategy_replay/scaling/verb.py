"""`strategy-lab predict`: the step on more replicas, from recorded runs on fewer.

A verb of its own, because `what-if` changes one step of one run, and this takes several runs and
gives a curve.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import strategy_profiles
from strategy_profiles.errors import LabError
from strategy_profiles.user_input.arguments import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strategy_profiles.tables.store import Profile
    from strategy_replay.scaling.link import Link
    from strategy_replay.scaling.predicting import ScalingPrediction

HELP = "predict step time, throughput and efficiency on more replicas, from runs on fewer"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run_folders",
        metavar="RUN",
        nargs="+",
        help="folders of runs of one program on different numbers of replicas, such as 1 and 2",
    )
    parser.add_argument(
        "--replicas",
        metavar="4,8",
        help="numbers of replicas, up to 1024 (default: powers of two from 1 to 1024)",
    )
    parser.add_argument(
        "--link",
        metavar="FILE|NAME",
        help="over this link, described by a TOML file, or one of those that come with the lab, "
        "such as ethernet-25g or nvlink4 (default: as recorded)",
    )
    parser.add_argument(
        "--algorithm",
        metavar="NAME",
        help="all-reduce by this algorithm: collective-ring, nccl, tree, hierarchical-copy or "
        "reduction-to-one-device (default: as recorded)",
    )
    parser.add_argument(
        "--batch-per-replica",
        type=number,
        metavar="N",
        help="another batch; needs runs of two batches (default: as recorded)",
    )
    parser.add_argument("--json", action="store_true", help="the prediction as one JSON object")


def run(args: argparse.Namespace) -> int:
    from rich.console import Console

    from strategy_core.cli._answer_text import print_answer
    from strategy_replay.scaling.answer import more_replicas
    from strategy_replay.scaling.link import read_link
    from strategy_replay.scaling.predicting import CURVE, predict_scaling
    from strategy_replay.scaling.recorded_steps import last_segment, segment_of
    from strategy_replay.scaling.tpu_mesh import is_emulated

    runs = [strategy_profiles.load(folder) for folder in args.run_folders]
    numbers = _numbers(args.replicas) if args.replicas else CURVE
    link = read_link(args.link) if args.link else None
    if len(runs) == 1 and is_emulated(segment_of(runs[0], last_segment(runs[0]))):
        return _on_a_mesh(args, runs[0], numbers, link)
    predicted = predict_scaling(
        runs,
        numbers,
        link=link,
        algorithm=args.algorithm,
        batch_per_replica=args.batch_per_replica,
    )
    if args.json:
        print(json.dumps(document(predicted)))
    else:
        print_answer(more_replicas(predicted), Console(emoji=False))
    return 0


def document(predicted: ScalingPrediction) -> dict[str, Any]:
    """The prediction as JSON: rows in order of the number of replicas, measured ones among them."""
    rows = [asdict(item) for item in predicted.rows]
    fields = asdict(predicted)
    del fields["measured"], fields["steps"]
    return {
        "schema_version": 1,
        **fields,
        "error_sentence": predicted.error_sentence,
        "steps": rows,
    }


def _on_a_mesh(
    args: argparse.Namespace, run: Profile, numbers: Sequence[int], link: Link | None
) -> int:
    """Print what the all-reduces of emulated TPU cores would take on a mesh, on paper."""
    from rich.console import Console

    from strategy_core.cli._answer_text import print_parts
    from strategy_replay.scaling.answer import on_a_mesh
    from strategy_replay.scaling.recorded_steps import last_segment
    from strategy_replay.scaling.tpu_mesh import predict_mesh

    if args.algorithm is not None or args.batch_per_replica is not None:
        raise LabError(
            f"{run.name} ran on emulated TPU cores: another algorithm or batch of a TPU is not "
            "modelled",
            advice="Leave out --algorithm and --batch-per-replica",
        )
    predicted = predict_mesh(run, last_segment(run), numbers, link)
    if args.json:
        print(json.dumps({"schema_version": 1, "basis": "on paper", **asdict(predicted)}))
        return 0
    print_parts([on_a_mesh(predicted)], Console(emoji=False))
    return 0


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise LabError(
            f"--replicas takes whole numbers with commas between them, received {text!r}",
            advice="For example --replicas 4,8",
        ) from None
