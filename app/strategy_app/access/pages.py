"""The few pages that the gate answers with itself: in with the token, or why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Template
from markupsafe import Markup
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, JSONResponse, Response

from strategy_app.access.policy import Access, bracketed
from strategy_core.processes.running_labs import TOKEN_VARIABLE
from strategy_profiles.reporting.document import digest

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:12vh auto;padding:0 1.5rem;"
    "color:#1f2430;background:#fff}h1{font-size:1.5rem}code{font-size:.95em;white-space:nowrap}a{color:inherit}"
    "input,button{font:inherit;padding:.45rem .7rem;border:1px solid #8a90a0;border-radius:.4rem;"
    "background:inherit;color:inherit;box-sizing:border-box}input{width:100%;margin:.3rem 0 .8rem}"
    "@media(prefers-color-scheme:dark){body{color:#e8eaf0;background:#0e1117}}"
)
_TEMPLATE = Template(Path(__file__).with_name("page.html").read_text("utf-8"), autoescape=True)
# A redirect of HTTP would still count as part of the visit that began on another site (a link in a
# chat, a file), and a browser sends no SameSite=Strict cookie with that. What this page asks for
# itself counts as the lab's own, and takes the place of this page in the history.
_GO_ON = (
    'const url=new URL(location.href);url.search=url.search.slice(1).split("&")'
    '.filter((part)=>decodeURIComponent(part.split("=")[0])!=="token").join("&");'
    "location.replace(url.href);"
)


def enter() -> Response:
    """Ask for the same address, without the token, from a page of the lab's own."""
    return _page("Opening Strategy Lab", script=_GO_ON)


def no_token(connection: HTTPConnection, *, is_wrong: bool, page: bool) -> Response:
    """Return status 401: a page with a form for the token if `page`, otherwise JSON."""
    said = (
        "This token is not valid for the running Strategy Lab."
        if is_wrong
        else "The running Strategy Lab needs its token."
    )
    headers = {"WWW-Authenticate": 'Bearer realm="Strategy Lab"'}
    if not page:
        advice = (
            "Open the address that strategy-lab printed, "
            "or send the header 'Authorization: Bearer TOKEN'."
        )
        return _json(f"{said} {advice}", 401, headers)
    fields = [item for item in connection.query_params.multi_items() if item[0] != "token"]
    return _page(
        "Strategy Lab: token needed",
        status=401,
        headers=headers,
        said=said,
        fields=fields,
        variable=TOKEN_VARIABLE,
    )


def foreign_host(host: str, access: Access, *, page: bool) -> Response:
    """403: the address in the browser is not one of the lab's."""
    own = f"http://{bracketed(_reachable(access.host))}:{access.port}"
    name = host[:200] or "(none)"
    said = f"This lab does not answer to the address {name}."
    advice = f"Use {own}, or start the lab with --allow-host {name}"
    if not page:
        return _json(f"{said} {advice}.", 403)
    return _page("Strategy Lab: unknown address", status=403, said=said, own=own, name=name)


def foreign_page(*, page: bool) -> Response:
    """403: another site, or another port, caused the request."""
    said = "The lab refuses this request because it came from another page than its own."
    if not page:
        return _json(said, 403)
    return _page("Strategy Lab: refused", status=403, said=said)


def _reachable(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)


def _json(error: str, status: int, headers: dict[str, str] | None = None) -> Response:
    kept = {"Cache-Control": "no-store", **(headers or {})}
    return JSONResponse({"error": error}, status, headers=kept)


def _page(
    title: str,
    *,
    script: str = "",
    status: int = 200,
    headers: dict[str, str] | None = None,
    **context: Any,
) -> HTMLResponse:
    policy = f"default-src 'none'; style-src {digest(_STYLE)}; img-src data:; "
    policy += "base-uri 'none'; form-action 'self'"
    if script:
        policy += f"; script-src {digest(script)}"
    text = _TEMPLATE.render(title=title, style=Markup(_STYLE), script=Markup(script), **context)
    own = {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-store",
        # The address of this page may hold the token.
        "Referrer-Policy": "no-referrer",
    }
    return HTMLResponse(text, status, headers={**own, **(headers or {})})
