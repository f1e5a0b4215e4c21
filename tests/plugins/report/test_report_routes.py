"""The address of a report."""

from __future__ import annotations

import pytest

from tests.app.asgi import Client
from tests.app.server.test_routes import client, written

__all__ = ["client", "written"]


@pytest.mark.parametrize("name", ["..%2fsecret%2frun", "missing", "%00", "x" * 300])
def test_no_report_is_of_a_run_outside_the_runs_folder(name: str, client: Client) -> None:
    assert client.get(f"/report/{name}").status in (400, 404)


def test_a_report_can_do_nothing_to_the_lab(client: Client) -> None:
    report = client.get("/report/hostile")
    policy = (report.headers or {}).get("content-security-policy", "")
    assert report.status == 200
    assert report.text.lstrip().lower().startswith("<!doctype html")
    assert "sandbox" in policy
    assert "allow-same-origin" not in policy
    assert "<script>alert" not in report.text
