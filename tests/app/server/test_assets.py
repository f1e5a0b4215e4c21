"""Streamlit's files are sent whole, and a page names ahead the modules it is drawn with."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from streamlit.file_util import get_static_dir

from strategy_app.server import assets
from strategy_app.server.assets import NEEDED, Assets, link_headers, needed, with_charts
from strategy_app.server.chart_library import ADDRESS
from tests.app.asgi import Answer, Client

PAGES = Path(assets.__file__).parents[1] / "pages"
STATIC = Path(get_static_dir())


async def _streamlit(_scope: Any, _receive: Any, send: Any) -> None:
    """Stands for Streamlit's app: the same page at every address."""
    headers = [(b"content-type", b"text/html; charset=utf-8")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"<html>"})


@cache
def _assets() -> Assets:
    return Assets(_streamlit)


def _get(path: str, headers: dict[str, str] | None = None) -> Answer:
    return Client(_assets()).get(path, headers)


def test_every_module_that_is_named_ahead_is_in_the_installed_streamlit() -> None:
    """Under another Streamlit with other names, pages would be slower, not wrong."""
    for names in NEEDED.values():
        for name in names:
            assert len(list((STATIC / "static" / "js").glob(f"{name}.*.js"))) == 1, name


def test_every_page_that_is_named_is_one() -> None:
    for path in NEEDED:
        assert (PAGES / f"{path.lstrip('/') or 'lab'}.py").is_file()


@pytest.mark.parametrize("path", NEEDED)
def test_what_a_page_names_can_be_had(path: str) -> None:
    link = (_get(path).headers or {})["link"]
    for each in link.split(", "):
        file = each[1 : each.index(">")]
        if file == f"./{ADDRESS}":
            continue
        assert (STATIC / file.lstrip("/")).is_file(), file
        assert each.endswith("; rel=modulepreload; fetchpriority=low")


def test_what_the_page_names_itself_is_not_named_twice() -> None:
    index = (STATIC / "index.html").read_text(encoding="utf-8")
    for link in link_headers(STATIC).values():
        for each in link.split(", "):
            assert each[1 : each.index(">")] not in index


def test_a_file_is_sent_whole_with_its_kind_and_kept_for_good() -> None:
    file = next((STATIC / "static" / "js").glob("protobuf.*.js"))
    answer = _get(f"/static/js/{file.name}")
    assert answer.body == file.read_bytes()
    assert answer.headers is not None
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "immutable" in answer.headers["cache-control"]


@pytest.mark.parametrize(
    "path",
    [
        "/static/js/none.js",
        "/static/js/../../index.html",
        "/static/js/%2e%2e/%2e%2e/index.html.js",
        "/static/js//etc/hosts.js",
        "/app/static/js/x.js",
        "/static/index.html",
    ],
)
def test_all_else_is_streamlits_to_answer(path: str) -> None:
    assert _get(path).text == "<html>"


@pytest.mark.parametrize("path", ["/", *NEEDED])
def test_a_page_names_the_lab_and_its_server(path: str) -> None:
    """Otherwise the client looks below the page's address first and is answered with 404."""
    answer = _get(path)
    assert 'document.title = "Strategy Lab"' in answer.text
    assert "BACKEND_BASE_URL" in answer.text
    assert answer.headers is not None
    assert answer.headers["cache-control"] == "no-cache"


def test_streamlits_files_are_sent_as_they_are() -> None:
    for file in (STATIC / "static" / "js").glob("*.js"):
        assert _get(f"/static/js/{file.name}").body == file.read_bytes()


def test_into_the_page_goes_a_head_of_the_labs_and_nothing_else_changes() -> None:
    original, sent = (STATIC / "index.html").read_text("utf-8"), _get("/runs").text
    before, _, after = original.partition("</head>")
    assert sent.startswith(before)
    assert sent.endswith(f"</head>{after}")


def test_the_pages_with_charts_start_the_library_that_draws_them() -> None:
    started = {path for path in needed() if f'"./{ADDRESS}"' in _get(path).text}
    announced = {path for path in needed() if ADDRESS in (_get(path).headers or {})["link"]}
    assert started == announced == with_charts()


def test_a_part_of_a_file_is_streamlits_to_answer() -> None:
    file = next((STATIC / "static" / "js").glob("protobuf.*.js"))
    assert _get(f"/static/js/{file.name}", {"range": "bytes=0-9"}).text == "<html>"


def test_a_streamlit_without_its_files_names_none(tmp_path: Path) -> None:
    assert link_headers(tmp_path) == {}
