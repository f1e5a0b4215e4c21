"""An expansion report as rows for the run's `collectives` and `transfers` tables.

Fills those columns of `strategy_profiles.tables.schema` that follow from the graph alone:
participants and bytes. Times come from a capture, joined by node name. All rows are `derived`.
"""

from __future__ import annotations

from typing import Any

from strategy_tpu.report import ExpansionReport

_SOURCE = "derived"


def collective_rows(report: ExpansionReport) -> list[dict[str, Any]]:
    """One row per communication and participant; `name` is the participant's graph node."""
    owner = _owners(report)
    rows = []
    for each in report.collectives:
        for index, device in enumerate(each.devices):
            replica, core = owner.get(device, (None, None))
            rows.append(
                {
                    "replica": replica,
                    "core": core,
                    "device": device,
                    "op": each.op,
                    "name": each.nodes[index] if index < len(each.nodes) else each.name,
                    "instance": each.instance,
                    "group_size": each.group_size,
                    "bytes": each.bytes,
                    "in_loop": each.in_loop,
                    "source": _SOURCE,
                    "bytes_source": _SOURCE,
                }
            )
    return rows


def transfer_rows(report: ExpansionReport) -> list[dict[str, Any]]:
    """One row per tensor sent from one device to another, with the reason."""
    return [
        {
            "tensor": each.tensor,
            "bytes": each.bytes,
            "send_device": each.send_device,
            "recv_device": each.recv_device,
            "reason": each.reason,
            "in_loop": each.in_loop,
            "source": _SOURCE,
            "bytes_source": _SOURCE,
        }
        for each in report.transfers
    ]


def _owners(report: ExpansionReport) -> dict[str, tuple[int, int]]:
    return {
        device: (replica, core)
        for replica, devices in enumerate(report.cores)
        for core, device in enumerate(devices)
    }
