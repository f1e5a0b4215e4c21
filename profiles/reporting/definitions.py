"""Every number the lab shows: its name, unit, meaning, formula, and where the formula comes from.

The page shows them on hover, the report prints them, the documentation lists them.
"""

from __future__ import annotations

from dataclasses import dataclass

NCCL_TESTS = "nccl-tests, PERFORMANCE.md"
TCP_INFO = "Linux, tcp(7): TCP_INFO"
POP = "POP Centre of Excellence, standard metrics"
HTA = "Holistic Trace Analysis, overlap of communication and computation"
WHAT_IF = (
    "Lin et al., Understanding Stragglers in Large Model Training Using What-if Analysis, 2025"
)


@dataclass(frozen=True, slots=True)
class Definition:
    """One number. `unit` is empty for ratios and counts."""

    key: str
    label: str
    unit: str
    meaning: str
    formula: str = ""
    source: str = ""

    @property
    def text(self) -> str:
        """Meaning, formula and source as one paragraph, for a hover."""
        parts = [self.meaning]
        if self.formula:
            parts.append(f"{self.formula}.")
        if self.source:
            parts.append(f"({self.source})")
        return " ".join(parts)


_PHASES = (
    Definition("compute", "Compute", "ms", "Time in which the replica runs ops of its own."),
    Definition(
        "wait",
        "Wait",
        "ms",
        "Time in which the replica has entered a collective and others have not.",
        "wait_r = max_q(start_q) - start_r, at least 0",
    ),
    Definition(
        "transfer",
        "Transfer",
        "ms",
        "Time in which the replica's tensors move, everybody being there.",
        "transfer_r = end_r - max_q(start_q), at least 0",
    ),
    Definition("input", "Input", "ms", "Time in which the step waits for its batch."),
    Definition(
        "idle",
        "Idle",
        "ms",
        "What is left of the step: Python and the runtime between ops.",
        "idle = step - compute - wait - transfer - input",
    ),
)

_STEPS = (
    Definition(
        "step_time",
        "Step time",
        "ms",
        "From asking for the batch until the step's result is there; the median of the timed "
        "steps. First steps of segments, steps in which a function is traced again, and steps "
        "captured in full are counted and not timed.",
    ),
    Definition(
        "throughput",
        "Throughput",
        "examples/s",
        "Examples of the timed steps over their wall time.",
        "sum(examples) / sum(step time)",
    ),
    Definition("loss", "Loss", "", "Loss of the step, averaged over its global batch."),
    Definition("progress", "Step", "", "Steps done, of those asked for."),
    Definition(
        "replica_time",
        "Where a replica's step went",
        "ms",
        "Means over the middle half, by wall time, of the captured steps (else of the steps with "
        "marks); they add up to the step.",
        "compute + wait + transfer + input + idle = step",
    ),
    Definition(
        "input_share",
        "Input share",
        "",
        "Share of the steps' time that passes waiting for batches.",
        "sum(input) / sum(step time)",
    ),
    Definition(
        "capture_overhead",
        "Capture overhead",
        "",
        "How many times as long the segment took because it was recorded in full.",
        "T / (T - cost), cost = start + stop + conversion of the windows + what captured steps "
        "took longer than bare ones",
    ),
)

_COMMUNICATION = (
    Definition(
        "traffic",
        "Collective traffic",
        "bytes/step",
        "Size S of all collectives that a replica takes part in, per step; for all-gather and "
        "reduce-scatter S is the total over the group.",
    ),
    Definition(
        "transfer_bytes",
        "Transfers between devices",
        "bytes/step",
        "Bytes that the runtime sends from one device to another, outside collectives.",
    ),
    Definition(
        "algbw",
        "Algorithm bandwidth",
        "GB/s",
        "Size of a collective over the time of its transfer, waiting left out; 10^9 bytes/s.",
        "algbw = S / t",
        NCCL_TESTS,
    ),
    Definition(
        "busbw",
        "Bus bandwidth",
        "GB/s",
        "What each link carries, comparable between group sizes n; 10^9 bytes/s.",
        "busbw = algbw * f; f = 2(n-1)/n all-reduce, (n-1)/n reduce-scatter, all-gather, "
        "all-to-all, 1 broadcast and reduce",
        NCCL_TESTS,
    ),
    Definition(
        "ring_share",
        "Share in the ring",
        "bytes/step",
        "What a device sends its neighbour if the collective runs as a ring; derived.",
        "f * S",
        NCCL_TESTS,
    ),
    Definition(
        "link_bytes",
        "Bytes on a link",
        "bytes/step",
        "TCP payload that one process sends another, as the kernels of both ends count it, each "
        "connection once and each byte once.",
        "(last count - first count) / steps between them",
        TCP_INFO,
    ),
    Definition(
        "served_step",
        "Step of a worker of parameter servers",
        "ms",
        "A worker reads its batch (input), reads every model variable from its server (pull), "
        "computes gradients (compute), and sends them to where the variables are, until the "
        "servers have answered (push).",
        "input + pull + compute + push = at work",
    ),
    Definition(
        "closures",
        "Closures",
        "",
        "A closure is one step, scheduled by the coordinator and done by whichever worker is free. "
        "Queued: scheduled, begun by no worker yet. In flight: begun, its push not yet answered.",
    ),
    Definition(
        "served_bytes",
        "Pulls and pushes",
        "bytes/step",
        "What a step of a worker reads from a parameter server and sends to it. The optimizer's "
        "own variables stay there: its update runs on the server.",
        "pulled: sum of the variables' sizes; pushed: sum of their gradients' sizes",
    ),
    Definition(
        "link_overhead",
        "Overhead of the protocol",
        "",
        "What gRPC and everything else adds to the bytes that a step has to move over a link.",
        "measured / derived - 1",
    ),
    Definition(
        "interface_overhead",
        "Overhead of the wire",
        "",
        "What a process's network interface carries beyond the payload of its links: 66 bytes of "
        "Ethernet, IPv4 and TCP headers around each frame, and what TCP sent again. With "
        "segmentation offload a frame is up to 64 KiB; cut for a wire of MTU 1500 the headers are "
        "4.6 %.",
        "interface / links - 1; unexplained: (interface - links - headers - sent again) / it",
    ),
    Definition(
        "overlap",
        "Overlap",
        "",
        "Share of the communication during which the replica also computes.",
        "|comm and compute| / |comm|, over interval unions",
        HTA,
    ),
    Definition(
        "exposed",
        "Exposed communication",
        "ms",
        "Communication during which the replica computes nothing.",
        "|comm without compute|, over interval unions",
        HTA,
    ),
)

_BALANCE = (
    Definition(
        "slowest",
        "Slowest replica",
        "ms",
        "The replica that the others wait for, and how late it is.",
        "late_r = median over steps of (median wait of the replicas that are not late - own wait)",
    ),
    Definition(
        "straggler_score",
        "Straggler score",
        "",
        "Lateness over its spread between steps: above 3 it is hardly chance.",
        "late / (1.4826 * median absolute deviation)",
    ),
    Definition(
        "slowdown",
        "Slowdown",
        "",
        "How many times as long the run took as with every replica like the typical one; read it "
        "with its replay error.",
        "S = T / T_ideal; replay error = |T_replay - T| / T",
        WHAT_IF,
    ),
    Definition(
        "load_balance",
        "Load balance",
        "",
        "How evenly the useful work is spread.",
        "LB = mean(compute) / max(compute)",
        POP,
    ),
    Definition(
        "communication_efficiency",
        "Communication efficiency",
        "",
        "What the busiest replica loses to everything but computing.",
        "CommE = max(compute) / step",
        POP,
    ),
    Definition(
        "parallel_efficiency",
        "Parallel efficiency",
        "",
        "Share of the replicas' time that computes.",
        "PE = LB * CommE",
        POP,
    ),
    Definition(
        "strong_scaling",
        "Strong scaling",
        "",
        "Efficiency of N replicas on the same global batch.",
        "T1 / (N * TN)",
    ),
    Definition(
        "weak_scaling",
        "Weak scaling",
        "",
        "Efficiency of N replicas on N times the batch.",
        "throughputN / (N * throughput1)",
    ),
)

_REST = (
    Definition(
        "clock_offset",
        "One clock",
        "ms",
        "How far a worker's wall clock is from the reference worker's. Workers ask it the time all "
        "along; the quickest exchange of each burst is wrong by at most half its round trip, and "
        "the line through them by at most their weighted sum. Workers of one host share its "
        "clock. Independent of that, nobody ends an all-reduce before the last worker began it.",
        "offset = ((received - sent) + (answered - returned)) / 2",
        "NTP: Mills, RFC 5905",
    ),
    Definition("bytes_in_use", "Memory in use", "bytes", "What the device's allocator holds now."),
    Definition("peak_bytes", "Peak memory", "bytes", "The most it held so far."),
    Definition(
        "ratio",
        "B against A",
        "",
        "Step time of B over that of A. Its 95 % confidence interval rests on the differences "
        "between runs, so one run a side has none.",
        "exp(mean(log b - log a)) over pairs of runs that followed each other; Student's t",
    ),
    Definition(
        "step_time_of_side",
        "Step time",
        "ms",
        "Of a run: the median of its steady steps, without warm-up, traced and captured "
        "ones. Of several runs: their geometric mean.",
        "exp(mean(log(median of steady steps)))",
        "warm-up: MSER-5, White 1997",
    ),
)

DEFINITIONS: dict[str, Definition] = {
    item.key: item for item in (*_PHASES, *_STEPS, *_COMMUNICATION, *_BALANCE, *_REST)
}
"""Every definition by key, in the order in which they are best read."""


def hover_texts() -> dict[str, str]:
    """Key to text, for a page that shows them."""
    return {key: item.text for key, item in DEFINITIONS.items()}
