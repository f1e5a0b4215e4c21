"""Streamlit's files are sent whole, and a page names ahead the modules it is drawn with."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from streamlit.file_util import get_static_dir

from strategy_app.server import assets
from strategy_app.server.assets import CHARTS, NEEDED, Assets, link_headers
from strategy_app.server.chart_library import compiled_early
from strategy_app.server.lost_page import LOST_PAGE_SCRIPT, THROWN
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


@pytest.mark.parametrize("path", ["/", "/contexts", *NEEDED])
def test_a_page_names_the_lab_and_its_server(path: str) -> None:
    """Otherwise the client looks below the page's address first and is answered with 404."""
    answer = _get(path)
    assert "<title>Strategy Lab</title>" in answer.text
    assert "BACKEND_BASE_URL" in answer.text
    assert answer.headers is not None
    assert answer.headers["cache-control"] == "no-cache"


def test_the_pages_with_charts_start_the_library_that_draws_them() -> None:
    file = next((STATIC / "static" / "js").glob(f"{CHARTS}.*.js"))
    started = {path for path in NEEDED if f'import("./static/js/{file.name}")' in _get(path).text}
    assert started == {path for path, names in NEEDED.items() if CHARTS in names}


def test_the_function_of_the_library_that_draws_charts_is_in_parentheses() -> None:
    """Under a Streamlit with another build, the page's only thread would compile it: 0.2 s."""
    file = next((STATIC / "static" / "js").glob(f"{CHARTS}.*.js"))
    sent, original = _get(f"/static/js/{file.name}").body, file.read_bytes()
    begin = original.index(b"()=>{", original.index(b"typeof self<`u`?self:"))
    end = original.rindex(b"return window.Plotly=e,e}") + len(b"return window.Plotly=e,e}")
    assert len(original) - 20_000 > end - begin > 4_000_000
    function = original[begin:end]
    assert sent == original[:begin] + b"(" + function + b")" + original[end:]


def test_a_library_of_another_build_is_sent_as_it_is() -> None:
    assert compiled_early(b"const Plotly = {};") == b"const Plotly = {};"


def test_a_part_of_a_file_is_streamlits_to_answer() -> None:
    file = next((STATIC / "static" / "js").glob(f"{CHARTS}.*.js"))
    assert _get(f"/static/js/{file.name}", {"range": "bytes=0-9"}).text == "<html>"


def test_a_streamlit_without_its_files_names_none(tmp_path: Path) -> None:
    assert link_headers(tmp_path) == {}


def test_streamlit_still_says_what_makes_a_lost_page_load_again() -> None:
    """Under a Streamlit with other words, a page that it takes down would stay blank."""
    code = "".join(
        file.read_text(encoding="utf-8") for file in (STATIC / "static/js").glob("index.*.js")
    )
    for words in THROWN:
        assert words in code
    assert LOST_PAGE_SCRIPT in (assets.index_page(STATIC) or "")
