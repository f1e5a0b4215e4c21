"""How PyTorch's traces (Kineto, since 2020) spell what this import reads, in one table each.

Names are compared in lower case: the same categories were `Kernel` in 2021 and are `kernel` today.
"""

from __future__ import annotations

import re
from typing import Literal

Role = Literal["host", "device", "repeats", "not read"]
"""Where the events of a category belong. Some repeat others, and some are no events of the program,
such as counters."""

ROLES: dict[str, Role] = {
    **dict.fromkeys(
        ("cpu_op", "operator", "user_annotation", "python_function", "cpu_instant_event", "trace"),
        "host",
    ),
    **dict.fromkeys(
        ("runtime", "cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver"), "host"
    ),
    **dict.fromkeys(("xpu_runtime", "xpu_driver", "mtia_runtime", "glow_runtime"), "host"),
    **dict.fromkeys(("privateuse1_runtime", "privateuse1_driver", "overhead"), "host"),
    **dict.fromkeys(("kernel", "concurrent_kernel", "hpu_op", "mtia_ccp_events"), "device"),
    **dict.fromkeys(("gpu_memcpy", "memcpy", "gpu_memset", "memset"), "device"),
    **dict.fromkeys(("gpu_user_annotation", "external_correlation"), "repeats"),
    **dict.fromkeys(("cuda_sync", "xpu_sync", "cuda_event"), "repeats"),
    **dict.fromkeys(("cuda_profiler_range", "xpu_scope_profiler"), "not read"),
    **dict.fromkeys(("hardware_counters", "mtia_counters", "mtia_insight"), "not read"),
}
MAKERS = {"mtia_ccp_events": "MTIA", "hpu_op": "HPU"}
"""Kind of the device of a category, where the trace does not name its devices; else it is a GPU."""

DEVICE_LABEL = re.compile(r"(?!CPU\b)([A-Za-z]{2,12}) (\d{1,5})")
"""The label of a device's process: `GPU 2`, `MTIA 9`, `XPU 0`."""

DEVICE_PROCESSES = {"ascend hardware": "NPU"}
"""Kind of the device of a process that has a name and no label."""

DTYPE_BYTES = {
    **dict.fromkeys(("byte", "char", "bool", "unsigned char", "signed char"), 1),
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"), 1),
    **dict.fromkeys(("half", "bfloat16", "short", "short int"), 2),
    **dict.fromkeys(("float", "int"), 4),
    **dict.fromkeys(("double", "long", "long int", "complexfloat", "complex<float>"), 8),
    **dict.fromkeys(("complexdouble", "complex<double>"), 16),
}
"""Bytes of an element; a type of C++ loses its `c10::`."""

USER_ANNOTATION = "user_annotation"
"""Category of what the program and PyTorch annotate."""
STEP = re.compile(r"profiler[ _]?step\s*#?\s*(\d{1,17})", re.IGNORECASE)
"""The annotation of a step by `torch.profiler`; the number is the step's."""
OPTIMIZER = re.compile(r"optimizer\.step#(\w+)", re.IGNORECASE)
"""What each optimizer of PyTorch annotates: a step of the program ends with it."""
