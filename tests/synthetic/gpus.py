"""Captures of GPUs that never ran, with their graph and the truth of every step.

Written from TensorFlow's collector (`xla/backends/profiler/gpu/cupti_collector.cc`) and its copies
(`core/common_runtime/copy_tensor.cc`), not from the code that reads captures. A plane per CUDA
ordinal, also of a GPU that ran nothing; a line per stream, named after what it ran; of each event
the correlation id of its launch, the context as a text, and the annotation around its launch: an
op's `node:Op` as `tf_op`, a copy's edge as `edge_name`, with an empty `tf_op`. NCCL's kernels have
`ncclAllReduce` with the bytes of its output, as `core/nccl/nccl_manager.cc` annotates the call.
Launches are events of the host, named after the kernel or the copy, as the callbacks of
`cupti_tracer.cc` name them. The host has no events of ops of a GPU but of asynchronous ones,
because they are not "expensive" there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from strategy_profiles.capture.graph import Graph, Node
from tests.made_xplane import Inline, MadeLine, MadePlane, started, xspace
from tests.replaced import replace

EPOCH_NS = 1_790_000_000_000_000_000
PERIOD_MS = 100.0
"""From step to step, of a program that reads each step's result."""
AHEAD_MS = 5.0
"""The same on the host, of a program that reads no result."""
BYTES = 4_000_000
PHASES = ("compute", "transfer", "wait", "input", "idle")
_CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
_NCCL = "ncclDevKernel_{}_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
_GEMM = "ampere_sgemm_128x64_nn"
_COMPUTE_STREAM, _COPY_STREAM, _PEER_STREAM, _NCCL_STREAM = 7, 13, 25, 20

_MATMULS = ("dense/MatMul", "grad/MatMul_1", "grad/MatMul_2")

Event = tuple[str, int, int, dict[str, int | str]]
Painted = list[tuple[str, float, float]]


@dataclass
class Cards:
    """What runs: a step computes, reduces its gradients and updates, as its fields say."""

    num: int = 2
    """Replicas, each on a GPU."""
    steps: int = 4
    late_ms: float = 0.0
    """How much longer the last replica computes."""
    collective: str = "AllReduce"
    """What NCCL runs, as its functions are named."""
    by_copies: bool = False
    """Gradients are copied to the first replica and summed there, instead of NCCL."""
    first: int = 0
    """CUDA ordinal of the first GPU; those before it are not the program's."""
    per_card: int = 1
    """Logical GPUs of a card."""
    is_ahead: bool = False
    """The program reads no result: kernels run up to hundreds of ms after their step."""
    with_ops: bool = True
    """False: kernels of CUDA graphs, without annotations."""
    launch_late_ms: float = 0.0
    """The host launches the update so long after the last collective has ended."""
    with_kernels: bool = True
    is_merged: bool = True
    """TensorFlow moves the launches from `/host:CUPTI` to `/host:CPU` at the end."""
    is_received: bool = False
    """A receive finds its tensor waiting and starts the copy, inside of its own annotation."""
    errors: Sequence[str] = ()
    warnings: Sequence[str] = ()
    _planes: dict[int, dict[int, list[Event]]] = field(default_factory=dict, init=False)
    _launches: list[Event] = field(default_factory=list, init=False)
    _host: list[Event] = field(default_factory=list, init=False)
    _correlation: int = field(default=0, init=False)

    @property
    def devices(self) -> list[str]:
        return [_CPU.replace("CPU:0", f"GPU:{replica}") for replica in range(self.num)]

    def capture(self) -> bytes:
        """Return the serialized XSpace."""
        self._planes = {card: {} for card in range(self._ordinal(self.num - 1) + 1)}
        self._launches, self._host, self._correlation = [], [], 0
        for step in range(self.steps):
            self._on_host(step)
            for replica in range(self.num):
                self._replica(step, replica)
        device_planes = [
            MadePlane(f"/device:GPU:{card}", self._lines(own), {"device_vendor": "Nvidia"})
            for card, own in self._planes.items()
        ]
        ops = [MadeLine("python", sorted(self._host, key=_start), 1)]
        calls = [MadeLine("Host Threads/77", sorted(self._launches, key=_start), 77)]
        if self.is_merged:
            hosts = [MadePlane("/host:CPU", [*ops, *calls])]
        else:
            hosts = [MadePlane("/host:CPU", ops), MadePlane("/host:CUPTI", calls)]
        planes = [*device_planes, *hosts, started(EPOCH_NS)]
        return xspace(planes, ["box"], self.errors, self.warnings)

    def graph(self) -> Graph:
        """Return the graph as the runtime placed it."""
        nodes = [_node("IteratorGetNext", "IteratorGetNext", _CPU)]
        for replica, device in enumerate(self.devices):
            nodes += _edge("IteratorGetNext", replica, _CPU, device)
            nodes += [
                _node(_name_of(replica, "dense/MatMul"), "MatMul", device, f"recv_{replica}"),
                _node(
                    _name_of(replica, "grad/MatMul_1"),
                    "MatMul",
                    device,
                    _name_of(replica, "dense/MatMul"),
                ),
                _node(
                    _name_of(replica, "grad/MatMul_2"),
                    "MatMul",
                    device,
                    _name_of(replica, "grad/MatMul_1"),
                ),
            ]
            nodes += self._reduction(replica, device)
        return Graph([replace(n, index=i) for i, n in enumerate(nodes)], self.devices)

    def truth(self) -> list[list[dict[str, float]]]:
        """Return by step and replica how long each phase is, in ms, and the communication's two."""
        return [
            [self._painted(step, replica) for replica in range(self.num)]
            for step in range(self.steps)
        ]

    # What happens when, in ms after the step's base.

    def _late(self, replica: int) -> float:
        return self.late_ms if replica == self.num - 1 else 0.0

    def _length(self) -> float:
        return (56 if self.by_copies else 51) + self.late_ms + self.launch_late_ms

    def _base(self, step: int) -> float:
        return 10 + step * self._length() if self.is_ahead else step * PERIOD_MS

    def _began(self, step: int) -> float:
        return step * (AHEAD_MS if self.is_ahead else PERIOD_MS)

    def _took(self) -> float:
        return AHEAD_MS - 1 if self.is_ahead else self._length() + 3

    def _work(self, replica: int) -> list[tuple[str, str, int, float, float]]:
        """Return what a replica's GPU runs: kernel, annotation, stream, begin and end."""
        late = self._late(replica)
        work = [
            ("MemcpyH2D", f"edge:IteratorGetNext:{replica}", _COPY_STREAM, 1, 3),
            (_GEMM, f"{_name_of(replica, 'dense/MatMul')}:MatMul", _COMPUTE_STREAM, 3, 23 + late),
            (
                _GEMM,
                f"{_name_of(replica, 'grad/MatMul_1')}:MatMul",
                _COMPUTE_STREAM,
                23 + late,
                33 + late,
            ),
            (
                _GEMM,
                f"{_name_of(replica, 'grad/MatMul_2')}:MatMul",
                _COMPUTE_STREAM,
                33 + late,
                43 + late,
            ),
        ]
        return work + (self._copied(replica) if self.by_copies else self._reduced(replica))

    def _reduced(self, replica: int) -> list[tuple[str, str, int, float, float]]:
        late = self._late(replica)
        first_end = 33 + self.late_ms + 4
        second_end = max(43 + self.late_ms, first_end) + 6
        kernel, annotation = _NCCL.format(self.collective), f"nccl{self.collective}"
        return [
            (kernel, annotation, _NCCL_STREAM, 33 + late, first_end),
            (kernel, annotation, _NCCL_STREAM, max(43 + late, first_end), second_end),
            (
                "void AssignSub",
                f"{_name_of(replica, 'update')}:ResourceApplyGradientDescent",
                _COMPUTE_STREAM,
                second_end + self.launch_late_ms,
                second_end + self.launch_late_ms + 2,
            ),
        ]

    def _copied(self, replica: int) -> list[tuple[str, str, int, float, float]]:
        own, last = 43 + self._late(replica), 43 + self.late_ms
        arrived = last + 5
        update = (
            "void AssignSub",
            f"{_name_of(replica, 'update')}:ResourceApplyGradientDescent",
            _COMPUTE_STREAM,
        )
        if replica:
            grad = _name_of(replica, "grad/MatMul_2")
            return [
                ("MemcpyP2P", f"edge:{grad}:0", _PEER_STREAM, own, own + 5),
                (*update, arrived + 6, arrived + 8),
            ]
        return [
            ("void AddN", "AddN:AddN", _COMPUTE_STREAM, arrived, arrived + 1),
            (*update, arrived + 1, arrived + 3),
            *(
                ("MemcpyP2P", f"edge:AddN:{other}", _PEER_STREAM, arrived + 1, arrived + 6)
                for other in range(1, self.num)
            ),
        ]

    # Events.

    def _ordinal(self, replica: int) -> int:
        return self.first + replica // self.per_card

    def _replica(self, step: int, replica: int) -> None:
        base, began = self._base(step), self._began(step)
        card = self._planes[self._ordinal(replica)]
        for at, (kernel, annotation, stream, start, end) in enumerate(self._work(replica)):
            self._correlation += 1
            launch_ms = began + 1.1 + replica * 0.2 + at * 0.02
            if self.launch_late_ms and at == len(self._work(replica)) - 1:
                launch_ms = base + start - 0.01
            stats = self._stats(kernel, annotation)
            self._launches.append(_event(kernel, launch_ms, launch_ms + 0.01, device_id=0, **stats))
            if self.with_kernels:
                line = card.setdefault(stream + 100 * (replica % self.per_card), [])
                stats = stats | {"context_id": Inline("$$1")}
                line.append(_event(kernel, base + start, base + end, **stats))

    def _stats(self, kernel: str, annotation: str) -> dict[str, int | str]:
        stats: dict[str, int | str] = {"correlation_id": self._correlation}
        if annotation.startswith("edge:"):
            _, source, target = annotation.split(":")
            received = (
                f"recv_{target}" if source == "IteratorGetNext" else f"{source}/recv_{target}"
            )
            stats |= {"tf_op": f"{received}:_Recv" if self.is_received else ""}
            stats |= {"edge_name": f"edge_{int(target) + 7}_{source}"}
            dest = self._ordinal(int(target)) if kernel == "MemcpyP2P" else 0
            stats["memcpy_details"] = (
                f"kind_src:device kind_dst:device size:{BYTES} dest:{dest} async:1"
            )
        elif annotation.startswith("nccl"):
            stats |= {"tf_op": annotation, "buffer_size": BYTES}
        elif self.with_ops:
            stats["tf_op"] = annotation
        return stats

    def _lines(self, streams: dict[int, list[Event]]) -> list[MadeLine]:
        made = []
        for stream, spans in streams.items():
            kinds = sorted({e[0] if e[0].startswith("Memcpy") else "Kernel" for e in spans})
            name = f"Stream #{stream}({','.join(kinds)})"
            made.append(MadeLine(name, sorted(spans, key=_start), stream))
        return made

    def _on_host(self, step: int) -> None:
        began, base = self._began(step), self._base(step)
        self._host += [
            _event("train", began, began + self._took(), step_num=step, _r=1),
            _event("strategy-lab input", began, began + 1),
            _event("EagerLocalExecute: __inference_step_9", began + 1, began + self._took() - 0.5),
        ]
        for replica in range(self.num):
            issued = began + 1.1
            self._async(step, f"recv_{replica}", "_Recv", issued, base + 3)
            if not self.by_copies:
                ends = [end for *_, stream, _, end in self._work(replica) if stream == _NCCL_STREAM]
                for number, end in enumerate(ends):
                    name, op = _collective(number, replica), "CollectiveReduceV2"
                    at = began + 1.5 + number * 0.1 + replica * 0.01
                    key = 10 + number
                    self._host.append(_event(f"{name}:{op}", at, at + 0.05, instance_key=key))
                    self._async(step, name, op, at, base + end)
            elif replica:
                arrived = 48 + self._late(replica)
                grad = _name_of(replica, "grad/MatMul_2")
                self._async(step, f"{grad}/recv_0", "_Recv", issued, base + arrived)
                self._async(step, f"AddN/recv_{replica}", "_Recv", issued, base + 54 + self.late_ms)

    def _async(self, step: int, node: str, op: str, issued: float, done: float) -> None:
        stats: dict[str, int | str] = {"name": node, "kernel_type": op, "step_id": 1000 + step}
        for kind, at in (("Start", issued), ("Done", done)):
            self._host.append(_event(f"ExecutorState::ProcessAsync::{kind}", at, at, **stats))

    # The graph.

    def _reduction(self, replica: int, device: str) -> list[Node]:
        grads = [_name_of(replica, f"grad/MatMul_{number}") for number in (1, 2)]
        update = "ResourceApplyGradientDescent"
        if not self.by_copies:
            names = [_collective(number, replica) for number in range(2)]
            return [
                *(
                    _node(name, "CollectiveReduceV2", device, grad, size=BYTES, group=self.num)
                    for name, grad in zip(names, grads, strict=True)
                ),
                _node(_name_of(replica, "update"), update, device, *names),
            ]
        if replica:
            return [
                *_edge(grads[1], 0, device, self.devices[0], own=True),
                *_edge("AddN", replica, self.devices[0], device, own=True),
                _node(_name_of(replica, "update"), update, device, f"AddN/recv_{replica}"),
            ]
        others = [f"{_name_of(r, 'grad/MatMul_2')}/recv_0" for r in range(1, self.num)]
        return [
            _node("AddN", "AddN", device, grads[1], *others, size=BYTES),
            _node("update", update, device, "AddN"),
        ]

    # The truth, painted on a grid.

    def _painted(self, step: int, replica: int) -> dict[str, float]:
        begin, end = -self._base(step) + self._began(step), 0.0
        end = begin + self._took()
        if self.is_ahead:
            is_last = step == self.steps - 1
            own_end = max(end for *_, end in self._work(replica))
            begin, end = 1.0, own_end if is_last else 1.0 + self._length()
        grid = np.round(np.arange(begin, end - 0.005, 0.01), 3) + 0.005
        layers = {phase: np.zeros(len(grid), bool) for phase in (*PHASES, "call")}
        for phase, first, last in self._phases(replica):
            layers[phase] |= (grid >= first) & (grid < last)
        if not self.is_ahead:
            layers["input"] |= grid < 1
        moving = layers["transfer"] | layers["wait"]
        layers["wait"] |= layers["call"]
        compute = layers["compute"]
        parts = {"communication": moving.sum(), "exposed": (moving & ~compute).sum()}
        free = np.ones(len(grid), bool)
        for phase in PHASES[:-1]:
            parts[phase] = (layers[phase] & free).sum()
            free &= ~layers[phase]
        parts["idle"] = free.sum()
        return {name: float(count) / 100 for name, count in parts.items()}

    def _phases(self, replica: int) -> Painted:
        """Return what a replica does when, by the first of `PHASES` that applies."""
        painted: Painted = []
        for kernel, _, stream, start, end in self._work(replica):
            if stream == _NCCL_STREAM:
                all_started = max(self._started(end))
                painted += [("wait", start, all_started), ("transfer", all_started, end)]
            else:
                painted.append(("transfer" if kernel.startswith("Mem") else "compute", start, end))
        if self.by_copies:
            last = 43 + self.late_ms
            if replica:
                painted += [("wait", 48 + self._late(replica), last + 6)]
                painted += [("transfer", last + 6, last + 11)]
            else:
                painted += [("wait", 43, last), ("transfer", last, last + 5)]
                # The call ends with the others' updates, which is no communication.
                painted += [] if self.is_ahead else [("call", last + 11, last + 13)]
        return painted

    def _started(self, end: float) -> list[float]:
        """Return when each replica's kernel of the collective that ends at `end` started."""
        return [
            start
            for replica in range(self.num)
            for *_, stream, start, own_end in self._work(replica)
            if stream == _NCCL_STREAM and own_end == end
        ]


def _start(event: Event) -> int:
    return event[1]


def _event(event_name: str, start_ms: float, end_ms: float, **stats: int | str) -> Event:
    return event_name, round(start_ms * 1e9), round((end_ms - start_ms) * 1e9), stats


def _name_of(replica: int, name: str) -> str:
    return f"replica_{replica}/{name}" if replica else name


def _collective(number: int, replica: int) -> str:
    return f"Adam/CollectiveReduceV2_{number}_{replica}"


def _node(
    name: str, op: str, device: str, *inputs: str, size: int | None = None, group: int | None = None
) -> Node:
    return Node(0, 0, name, op, device, inputs, bytes=size, group_size=group)


def _edge(source: str, target: int, sender: str, receiver: str, *, own: bool = False) -> list[Node]:
    """Return the send and the receive of a tensor between two devices."""
    name = f"{source}/recv_{target}" if own else f"recv_{target}"
    ends = {"tensor": f"edge_{target + 7}_{source}", "send_device": sender, "recv_device": receiver}
    return [
        Node(0, 0, f"{source}/send_{target}", "_Send", sender, (source,), bytes=BYTES, **ends),
        Node(0, 0, name, "_Recv", receiver, (), bytes=BYTES, **ends),
    ]
