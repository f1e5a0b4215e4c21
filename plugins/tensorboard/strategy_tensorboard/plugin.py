"""The plugin: which runs there are, the report of one, and its page in a lab that runs.

A run comes from a log directory that others may write to. Its report runs no scripts but those that
its content security policy names, and the page shows it in a sandboxed frame, from which nothing of
TensorBoard can be reached. A lab's address is given without its token: anyone who reaches
TensorBoard could otherwise use the lab.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensorboard.backend import http_util
from tensorboard.plugins import base_plugin
from werkzeug import wrappers

import strategy_app
import strategy_profiles
from strategy_app.widgets.runs_folder import RunEntry
from strategy_core.processes.running_labs import page_of
from strategy_profiles.errors import LabError
from strategy_profiles.exports import download
from strategy_profiles.user_input.text import quoted
from strategy_tensorboard.logged_runs import LoggedRuns

_OWN = Path(__file__).with_name("frontend")
_OF_THE_PAGE = Path(strategy_app.__file__).with_name("frontend")
_FILES = {
    "/tensorboard/index.js": (_OWN / "index.js", "text/javascript"),
    "/tensorboard/lab_link.js": (_OWN / "lab_link.js", "text/javascript"),
    "/tensorboard/style.css": (_OWN / "style.css", "text/css"),
    "/shared/dom.js": (_OF_THE_PAGE / "shared" / "dom.js", "text/javascript"),
}
"""File and media type by the path that the browser asks for."""

WsgiApp = Callable[..., Any]


class StrategyLabPlugin(base_plugin.TBPlugin):
    """TensorBoard makes one for its log directory."""

    plugin_name = "strategy_lab"

    def __init__(self, context: base_plugin.TBContext) -> None:
        # Empty for --logdir_spec; a bucket's address is no folder, and has no runs for us.
        logdir = context.logdir or ""
        self._logdir = logdir
        self._runs = LoggedRuns(Path(logdir)) if logdir else None

    def get_plugin_apps(self) -> dict[str, WsgiApp]:
        """Return the plugin's routes, below `/data/plugin/strategy_lab`."""
        files = {path: _file(*file) for path, file in _FILES.items()}
        return {"/runs": self._list, "/report": self._report, "/lab": self._lab, **files}

    def is_active(self) -> bool:
        """Return whether there is a run: without one, TensorBoard lists the tab as inactive."""
        return bool(self._runs and self._runs.find())

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """Return the tab's title and the module that draws it."""
        return base_plugin.FrontendMetadata(
            es_module_path="/tensorboard/index.js", tab_name="Strategy Lab", disable_reload=True
        )

    @wrappers.Request.application
    def _list(self, request: wrappers.Request) -> wrappers.Response:
        entries = self._runs.find() if self._runs else {}
        runs = [
            {
                "name": name,
                "title": entry.title,
                "created_ms": entry.created_ns // 1_000_000,
                "is_damaged": entry.is_damaged,
                "command": shlex.join(["strategy-lab", "ui", "--runs", str(entry.path.parent)]),
            }
            for name, entry in entries.items()
        ]
        listed = {"logdir": self._logdir, "runs": runs}
        return http_util.Respond(request, listed, "application/json")

    @wrappers.Request.application
    def _lab(self, request: wrappers.Request) -> wrappers.Response:
        entry = self._entry(request)
        if entry is None:
            return self._no_such_run(request)
        address = {"page": page_of(entry.path, "overview")}
        return http_util.Respond(request, address, "application/json")

    @wrappers.Request.application
    def _report(self, request: wrappers.Request) -> wrappers.Response:
        entry = self._entry(request)
        if entry is None:
            return self._no_such_run(request)
        try:
            page = download(strategy_profiles.load(entry.path), "html").data
        except LabError as error:
            return http_util.Respond(request, str(error), "text/plain", code=422)
        # Not http_util.Respond: its own policy for pages would refuse the report's scripts. The
        # report brings one of its own.
        headers = {"X-Content-Type-Options": "nosniff"}
        return wrappers.Response(page, headers=headers, content_type="text/html; charset=utf-8")

    def _entry(self, request: wrappers.Request) -> RunEntry | None:
        return self._runs.find().get(request.args.get("run", "")) if self._runs else None

    def _no_such_run(self, request: wrappers.Request) -> wrappers.Response:
        problem = f"There is no run {quoted(request.args.get('run', ''))} below {self._logdir}."
        return http_util.Respond(request, problem, "text/plain", code=404)


def _file(file: Path, media_type: str) -> WsgiApp:
    @wrappers.Request.application
    def serve(request: wrappers.Request) -> wrappers.Response:
        return http_util.Respond(request, file.read_bytes(), media_type)

    app: WsgiApp = serve
    return app
