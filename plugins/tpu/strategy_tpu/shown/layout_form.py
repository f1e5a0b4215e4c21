"""A TPU's layout before a run: mesh, cores per replica, which device emulates which core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from strategy_app.forms.added_fields import StrategyFields
from strategy_app.forms.field_errors import FieldErrors
from strategy_app.widgets.chart import draw_chart
from strategy_profiles.errors import LabError
from strategy_profiles.spec.run_spec import parse_devices
from strategy_profiles.user_input.text import whole_or_none
from strategy_tpu import mesh as meshes
from strategy_tpu.shown.mesh_chart import CorePlace, mesh


def pick_layout(document: Mapping[str, Any], field_errors: FieldErrors) -> dict[str, Any]:
    """Draw the knobs and the mesh that they make; the part `tpu` of a RunSpec."""
    count = parse_devices(document["devices"]).count
    left, right = st.columns([2, 3], gap="large")
    with left:
        per_replica = st.number_input(
            "Cores per replica",
            1,
            64,
            1,
            key="tpu_cores",
            help="More than one: a replica's ops are spread over its cores (model parallelism).",
            bind="query-params",
        )
        field_errors.below("tpu.cores_per_replica")
        text = st.text_input(
            "Mesh (x, y, z, core)",
            key="tpu_mesh",
            placeholder=_usual(count),
            help="The layout of the cores. Empty: the default mesh.",
            bind="query-params",
        )
        field_errors.below("tpu.topology")
        axis = st.number_input(
            "Split features along axis",
            0,
            8,
            None,
            key="tpu_axis",
            disabled=per_replica == 1,
            placeholder="not split",
            help="The axis along which a replica's features are split over its cores; 1 is "
            "the height of an image. Empty: its first core computes everything.",
        )
        field_errors.below("tpu.split_axis")
        spmd = st.toggle(
            "One partitioned program (SPMD)",
            key="tpu_spmd",
            disabled=per_replica == 1,
            help="experimental_spmd_xla_partitioning",
        )
        if per_replica == 1:
            st.caption("Splitting needs several cores per replica.")
    layout = {
        "cores_per_replica": per_replica,
        "topology": _mesh(text),
        "split_axis": axis if per_replica > 1 else None,
        "spmd": bool(spmd) and per_replica > 1,
    }
    with right:
        _draw(layout, count, document["workers"])
    return {"tpu": layout}


def _mesh(text: str) -> Any:
    """Four numbers, or the text itself, so that RunSpec refuses it."""
    if not text.strip():
        return None
    parts = [part.strip() for part in text.strip("()[] ").split(",")]
    numbers = [whole_or_none(part) for part in parts]
    return [part if number is None else number for number, part in zip(numbers, parts, strict=True)]


def _usual(count: int | None) -> str:
    return ", ".join(map(str, meshes.default_shape(count))) if count else "set by the TPU"


def _draw(layout: dict[str, Any], count: int | None, num_hosts: int) -> None:
    """The mesh with its replicas, where the knobs make one."""
    if count is None:
        st.caption("The TPU reports the layout of its cores.")
        return
    try:
        shape = layout["topology"] or meshes.default_shape(count)
        box = meshes.computation_shape(shape, layout["cores_per_replica"])
        of_hosts = meshes.Mesh(tuple(shape), num_hosts).coordinates()
        places = [
            CorePlace(at, replica, (*_device(host, ordinal, num_hosts), f"core {core}"))
            for host, coordinates in enumerate(of_hosts)
            for ordinal, (at, replica, core) in enumerate(_assigned(coordinates, shape, box))
        ]
    except (LabError, ValueError, TypeError):
        st.caption("This mesh is not possible: see the message at its field.")
        return
    draw_chart(mesh(places, shape), key="tpu_mesh_chart", alt="The TPU's mesh")
    st.caption("One colour per replica. Replicas are numbered when the run starts.")


def _device(host: int, ordinal: int, num_hosts: int) -> tuple[str, ...]:
    """The device that emulates a core, with its host if there are several."""
    device = f"device {ordinal}"
    return (f"host {host}", device) if num_hosts > 1 else (device,)


def _assigned(
    coordinates: list[meshes.Coordinates], shape: Any, box: Any
) -> list[tuple[meshes.Coordinates, int, int]]:
    """Each core of a host in ordinal order with the box of its replica and its place in it."""
    tiles = [size // part for size, part in zip(shape, box, strict=True)]
    assigned = []
    for at in coordinates:
        replica = core = 0
        for index, part, tile in zip(at, box, tiles, strict=True):
            replica = replica * tile + index // part
            core = core * part + index % part
        assigned.append((at, replica, core))
    return assigned


FIELDS = StrategyFields(pick_layout)
