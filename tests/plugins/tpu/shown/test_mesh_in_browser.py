"""The mesh of cores in real Chromium."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

from strategy_profiles.run.layout import worker_folder
from strategy_profiles.tables.schema import TABLES
from tests.e2e.conftest import Server

pytestmark = pytest.mark.browser


def test_bytes_of_links_are_on_the_mesh_only_where_they_have_room(
    open_page: Callable[..., Page], server: Server
) -> None:
    """On a phone, four cores beside each other leave none: there a tap on a link shows them."""
    run = server.write_run("mesh", steps=40, windows=1, strategy="tpu", replicas=8)
    places = [[list(place)] for place in itertools.product(range(2), range(2), [0], range(2))]
    expanded = {"kind": "cores", "segment": 0, "topology": [2, 2, 1, 2], "coordinates": places}
    expanded |= {"spmd": False, "num_ops": {}, "partitioned": {}, "fallbacks": []}
    with worker_folder(run, 0, 0).events.open("a") as log:
        log.write(json.dumps(expanded | {"collectives": [], "moved_bytes": {}}) + "\n")
    for file in run.rglob("transfers.parquet"):
        of_replicas = [row | {"tensor": "replica_1/sum"} for row in pq.read_table(file).to_pylist()]
        pq.write_table(pa.Table.from_pylist(of_replicas, schema=TABLES["transfers"]), file)
    page = open_page(server.address("cores", run="mesh"), viewport={"width": 1280, "height": 720})
    texts = page.locator(".st-key-mesh .textpoint")
    bytes_of_links = texts.filter(has_text=re.compile(r"^\s*\d+\sB$"))
    expect(bytes_of_links.first).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    expect(bytes_of_links.first).to_be_hidden()
    expect(texts.filter(has_text="replica 7")).to_be_visible()
