"""Every number the lab shows: its name, unit, meaning, formula, and where the formula comes from.

The page shows them on hover, the report prints them, the documentation lists them.
"""

from __future__ import annotations

from msgspec import Struct

NCCL_TESTS = "nccl-tests, PERFORMANCE.md"
TCP_INFO = "Linux, tcp(7): TCP_INFO"
POP = "POP Centre of Excellence, standard metrics"
TALP = "Barcelona Supercomputing Center, TALP, metrics of GPUs"
HTA = "Holistic Trace Analysis, overlap of communication and computation"
WHAT_IF = (
    "Lin et al., Understanding Stragglers in Large Model Training Using What-if Analysis, 2025"
)


class Definition(Struct, frozen=True):
    """One number. `unit` is empty for ratios and counts."""

    key: str
    label: str
    unit: str
    meaning: str
    formula: str = ""
    source: str = ""

    @property
    def words(self) -> tuple[str, str]:
        """What a number is called that is less than another one, and that is more."""
        return ("shorter", "longer") if self.unit in ("ms", "s") else ("lower", "higher")

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
    Definition("compute", "Compute", "ms", "Time in which the replica runs its own ops."),
    Definition(
        "delay",
        "Injected delay",
        "ms",
        "Time in which the replica sleeps because the lab injected a delay. Captures measure the "
        "op that sleeps. Steps that only have timestamps take the length that the run's settings "
        "give, and at most the time until the gradients are ready.",
        "delay = min(setting, gradients ready - inputs ready), if not measured",
    ),
    Definition(
        "wait",
        "Wait",
        "ms",
        "Time in which the replica waits in a collective for replicas that have not entered it.",
        "wait_r = max_q(start_q) - start_r, at least 0",
    ),
    Definition(
        "transfer",
        "Transfer",
        "ms",
        "Time in which the replica's tensors are transferred, after all replicas have entered "
        "the collective.",
        "transfer_r = end_r - max_q(start_q), at least 0",
    ),
    Definition("input", "Input", "ms", "Time in which the step waits for its batch."),
    Definition(
        "idle",
        "Idle",
        "ms",
        "The rest of the step: Python and the runtime between ops.",
        "idle = step - compute - injected delay - wait - transfer - input",
    ),
)

_STEPS = (
    Definition(
        "loop_time",
        "Loop time per step",
        "ms",
        "Wall time of the training loop per step, with all that happens between steps. The first "
        "step of a segment is left out.",
        "(end of the last step - end of the first step) / (steps - 1)",
    ),
    Definition(
        "loop_throughput",
        "Throughput of the loop",
        "examples/s",
        "Examples of the steps after the first one, divided by the wall time of the loop after it.",
        "sum(examples) / loop time",
    ),
    Definition(
        "step_time",
        "Step time",
        "ms",
        "From requesting the batch until the step's result is available; the median of the "
        "timed steps. First steps of segments, steps in which a function is traced again, and "
        "fully captured steps are counted but not timed.",
    ),
    Definition(
        "throughput",
        "Throughput of steps",
        "examples/s",
        "Examples of the timed steps divided by their wall time.",
        "sum(examples) / sum(step time)",
    ),
    Definition(
        "loss",
        "Loss",
        "",
        "Loss of the step, averaged over its global batch; of Keras's fit, the mean over the steps "
        "of the epoch so far.",
    ),
    Definition("progress", "Step", "", "Steps done, of those requested."),
    Definition(
        "replica_time",
        "Step time of each replica",
        "ms",
        "Means over the middle half, by wall time, of the captured steps, or of the steps "
        "with timestamps if none is captured. The phases add up to the step.",
        "compute + injected delay + wait + transfer + input + idle = step",
    ),
    Definition(
        "input_share",
        "Input share",
        "",
        "Share of the steps' time spent waiting for batches.",
        "sum(input) / sum(step time)",
    ),
    Definition(
        "capture_overhead",
        "Capture overhead",
        "",
        "By which factor full captures lengthened the segment.",
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
        "Bytes that the runtime sends between devices outside of collectives.",
    ),
    Definition(
        "busiest_link",
        "Busiest link",
        "bytes/step",
        "Most bytes from one device to another. Those of collectives are derived: what a device "
        "sends to its neighbour if each of them runs as a ring.",
        "f * S",
        NCCL_TESTS,
    ),
    Definition(
        "algbw",
        "Algorithm bandwidth",
        "GB/s",
        "Size of a collective divided by its transfer time, without waiting; 10^9 bytes/s.",
        "algbw = S / t",
        NCCL_TESTS,
    ),
    Definition(
        "busbw",
        "Bus bandwidth",
        "GB/s",
        "Rate of each link, comparable between group sizes n; 10^9 bytes/s.",
        "busbw = algbw * f; f = 2(n-1)/n all-reduce, (n-1)/n reduce-scatter, all-gather, "
        "all-to-all, 1 broadcast and reduce",
        NCCL_TESTS,
    ),
    Definition(
        "ring_share",
        "Share in the ring",
        "bytes/step",
        "Bytes that a device sends to its neighbour if the collective runs as a ring; derived.",
        "f * S",
        NCCL_TESTS,
    ),
    Definition(
        "link_bytes",
        "Bytes on a link",
        "bytes/step",
        "TCP payload that one process sends to another, counted by the kernels of both ends. "
        "Each connection and each byte counts once.",
        "(last count - first count) / steps between them",
        TCP_INFO,
    ),
    Definition(
        "served_step",
        "Step of a worker of parameter servers",
        "ms",
        "A worker reads its batch (input), reads every model variable from its server (pull), "
        "computes gradients (compute), and sends them to the variables' servers, until these "
        "have answered (push).",
        "input + pull + compute + push = at work",
    ),
    Definition(
        "closures",
        "Closures",
        "",
        "A closure is one step that the coordinator schedules and a free worker runs. Queued: "
        "scheduled but not started. In flight: started, its push not yet answered.",
    ),
    Definition(
        "served_bytes",
        "Pulls and pushes",
        "bytes/step",
        "Bytes that a worker's step reads from a parameter server and sends to it. The "
        "optimizer's variables stay on the server, which runs the update.",
        "pulled: sum of the variables' sizes; pushed: sum of their gradients' sizes",
    ),
    Definition(
        "link_overhead",
        "Overhead of the protocol",
        "",
        "Bytes that gRPC and other traffic add to those that a step must move over a link.",
        "measured / derived - 1",
    ),
    Definition(
        "interface_overhead",
        "Overhead of the wire",
        "",
        "Bytes on a process's network interface beyond the payload of its links: 66 bytes of "
        "Ethernet, IPv4 and TCP headers per frame, and TCP retransmissions. With segmentation "
        "offload a frame is up to 64 KiB; on a wire of MTU 1500 the headers are 4.6 %.",
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
        "exposed = wait + transfer",
    ),
)

_BALANCE = (
    Definition(
        "slowest",
        "Straggler",
        "ms",
        "The replica for which the others wait, and how late it is.",
        "late_r = median over steps of (median wait of the replicas that are not late - own wait)",
    ),
    Definition(
        "straggler_score",
        "Straggler score",
        "",
        "Lateness divided by its spread between steps. Above 3 it is unlikely to be chance.",
        "late / (1.4826 * median absolute deviation)",
    ),
    Definition(
        "slowdown",
        "Slowdown",
        "",
        "By which factor the run is longer than with every replica as fast as the typical "
        "one. Estimated: a step is its slowest replica plus the median rest. Compare it with the "
        "error of this estimate, which is not that of a replay.",
        "S = T / T_ideal; error of the estimate = |T_estimate - T| / T",
        WHAT_IF,
    ),
    Definition(
        "load_balance",
        "Load balance",
        "",
        "How evenly the computation is distributed over the replicas.",
        "LB = mean(useful) / max(useful), useful = compute + injected delay",
        POP,
    ),
    Definition(
        "communication_efficiency",
        "Communication efficiency",
        "",
        "Share of computing in the time in which replicas compute or communicate.",
        "CommE = max(useful) / max(useful + wait + transfer)",
        TALP,
    ),
    Definition(
        "orchestration_efficiency",
        "Orchestration efficiency",
        "",
        "Share of the step in which replicas compute or communicate. In the rest they wait for "
        "input or for the host, such as TensorFlow's Python.",
        "OrchE = max(useful + wait + transfer) / step",
        TALP,
    ),
    Definition(
        "parallel_efficiency",
        "Parallel efficiency",
        "",
        "Share of the replicas' time spent computing.",
        "PE = LB * CommE * OrchE",
        TALP,
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
        "Difference between a worker's wall clock and the reference worker's. Workers "
        "repeatedly request its time. The fastest exchange of each burst is wrong by at most "
        "half its round trip, and the line fitted through these by at most their weighted "
        "sum. Workers of one host share its clock. An independent check: no worker ends an "
        "all-reduce before the last one began it.",
        "offset = ((received - sent) + (answered - returned)) / 2",
        "NTP: Mills, RFC 5905",
    ),
    Definition(
        "bytes_in_use", "Memory in use", "bytes", "Bytes that the device's allocator holds now."
    ),
    Definition("peak_bytes", "Peak memory", "bytes", "The highest value so far."),
    Definition(
        "ratio",
        "Step time of B / A",
        "",
        "Step time of B divided by that of A. Its 95 % confidence interval is computed from "
        "the differences between runs, so one run a side has none.",
        "exp(mean(log b - log a)) over pairs of consecutive runs; Student's t",
    ),
    Definition(
        "step_time_of_side",
        "Step time",
        "ms",
        "One run: the median of its steady steps, without warm-up, traced and captured steps. "
        "Several runs: their geometric mean.",
        "exp(mean(log(median of steady steps)))",
        "warm-up: MSER-5, White 1997",
    ),
    Definition(
        "throughput_of_side",
        "Throughput at this step time",
        "examples/s",
        "Examples of a steady step divided by the compared step time. Slow steps lower the "
        "throughput of the page Why, which is over all timed steps, but not this one.",
        "examples per step / step time",
    ),
)

DEFINITIONS: dict[str, Definition] = {
    item.key: item for item in (*_PHASES, *_STEPS, *_COMMUNICATION, *_BALANCE, *_REST)
}
"""Every definition by key, in the order in which they are best read."""


def hover_texts() -> dict[str, str]:
    """Key to text, for a page that shows them."""
    return {key: item.text for key, item in DEFINITIONS.items()}
