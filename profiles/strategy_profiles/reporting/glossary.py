"""The words of the lab, each with its meaning: hover texts of the page, and `docs/glossary.md`.

Figures are in `definitions`; the page of the glossary lists both.
"""

from __future__ import annotations

TERMS: dict[str, str] = {
    "all-reduce": "A collective after which every replica has the sum of all replicas' tensors; "
    "synchronous strategies all-reduce their gradients in every step.",
    "capture window": "A few consecutive steps recorded in full by TensorFlow's profiler: every op "
    "with its device and times. Windows come as often as the overhead budget allows.",
    "closure": "One step under parameter servers: a function that the coordinator schedules and "
    "any free worker executes.",
    "collective": "An operation in which all replicas of a group take part, such as an all-reduce. "
    "It can only end after the last of them has entered it.",
    "context": "What kind of code runs: replica context (inside strategy.run, once per replica), "
    "cross-replica context (inside strategy.scope, once), or update context (once per variable "
    "copy).",
    "coordinator": "The process that does the steps of a cluster whose other processes execute "
    "what it sends: under parameter servers, and of a TPU pod.",
    "core": "A TPU core. Without a TPU, a virtual CPU device or a logical GPU emulates it.",
    "CPU cores in use": "CPU time per second: of this run's processes, of all other programs on "
    "the machine (the lab's server and a browser among them), and what the hypervisor gave to "
    "other virtual machines. Sampled every two seconds.",
    "derived": "Computed from the graph or by a formula, and not read from a clock or counter.",
    "device": "What TensorFlow places an op or variable on. A physical device (a CPU, a GPU) can "
    "be split into several logical ones; each replica has its own.",
    "estimated": "Bounded by what was measured, because an event is missing: when a replica "
    "entered a collective whose event the end of the capture cut off.",
    "global batch": "The examples of one step, over all replicas. Each replica of a synchronous "
    "strategy gets an equal share.",
    "host": "A machine, or one with TPU cores in a pod. Processes on one host share its clock.",
    "late start": "On the critical path: how much later another worker begins its step than the "
    "one whose ops are recorded.",
    "launch gap": "The time from the end of the last op that an op depends on until it starts.",
    "leader": "Worker 0 of a cluster. Its steps are the run's, and it saves checkpoints.",
    "marks": "Timestamps inside the graph, on every step of each replica: inputs ready, gradients "
    "ready, gradients reduced. At the end of a step the collective `lab-marks` gathers them.",
    "measured": "Read from a clock, a counter of the system or an event of the profiler.",
    "parameter server": "A process that holds variables. Workers read them and send updates to it.",
    "placement": "Which device each op and variable is on, as TensorFlow's runtime decided.",
    "pod": "A TPU whose cores are on several hosts, each host a process with its own input "
    "pipeline.",
    "rank": "A replica's number within the group of a collective.",
    "reconfiguration": "A change of a run while it trains: another strategy, other devices, "
    "another batch. The training state is carried over.",
    "replay": "A simulation of a captured step over the graph of its ops, with launch gaps from "
    "other steps. Its error is the difference to the measured step.",
    "replica": "A copy of the model that computes its share of the global batch on a device (or on "
    "several TPU cores) of its own.",
    "run": "One training, from its request to its end, and the folder that records it.",
    "RunSpec": "The request for a run: strategy, devices, workload and everything else, as YAML.",
    "segment": "The steps of a run under one configuration. Each reconfiguration closes a segment "
    "and opens the next.",
    "span": "One op event on the timeline: what ran, on which device, from when to when.",
    "spare worker": "A worker process that has imported TensorFlow and waits, so that the next run "
    "or reconfiguration starts at once.",
    "step": "One update of the model: from asking for the batch until its result is there.",
    "straggler": "A replica that is late in most steps, so that the others wait for it.",
    "strategy": "A tf.distribute.Strategy: where variables are, and how replicas compute together.",
    "timed step": "A step that counts for step times: not the first of a segment, not traced "
    "again, not captured in full.",
    "transfer between devices": "A tensor that the runtime copies from one device to another "
    "outside collectives.",
    "virtual device": "A logical CPU device. All of them share the machine's cores, so they show "
    "behaviour, placement and traffic, and no speed-up.",
    "worker": "A process that trains. It has one or more replicas.",
    "workload": "What is trained: a Python file with a model and a data set.",
    "XLA": "TensorFlow's compiler, which fuses ops into kernels. In the lab it compiles each "
    "replica's forward and backward pass (of Keras fit the whole step, without timestamps); "
    "captures then show one op instead of many.",
    "XPlane": "TensorFlow's profile format; the raw files of capture windows, which TensorBoard "
    "and XProf open too.",
}
"""Each word and what it means here, in the order of the alphabet."""
