"""Every export of a run as a download, made on request."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import quote

import streamlit as st

from strategy_app.added_routes import links_on
from strategy_app.widgets.text import as_markdown
from strategy_profiles.exports import Format, download, formats
from strategy_profiles.guards import files_below
from strategy_profiles.run.layout import worker_folders
from strategy_profiles.tables.store import Profile

OPEN_WITH = {
    "html": "A single file that can be mailed.",
    "chrome-trace": "There, choose *Open trace file*. The file stays on this machine.",
    "xplane": "Unpack it first. `xprof --logdir FOLDER` also opens it.",
    "parquet": "In DuckDB: `select * from 'steps.parquet'`.",
}
"""What to do with a file, beyond its format's own description."""
IN_A_ROW = 3
ORDER = ("html", "film", "chrome-trace", "xplane", "parquet", "csv", "json")


def show_downloads(profile: Profile) -> None:
    """A button and a sentence per format, and links to routes that packages add."""
    for link in links_on("runs"):
        address = link.address.format(run=quote(profile.path.name))
        st.link_button(link.title, address, type="primary")
    known = formats()
    names = [name for name in ORDER if name in known] + [
        name for name in known if name not in ORDER
    ]
    for start in range(0, len(names), IN_A_ROW):
        row = names[start : start + IN_A_ROW]
        for column, name in zip(st.columns(IN_A_ROW), row, strict=False):
            with column:
                _show_format(profile, known[name])


def _show_format(profile: Profile, item: Format) -> None:
    reason = unavailable(profile, item.name)
    with st.container(border=True, height="stretch"):
        st.download_button(
            f"Download {as_markdown(item.title)}",
            data=lambda: download(profile, item.name).data,
            file_name=f"{profile.path.name}{item.suffix or f'-{item.name}.zip'}",
            mime=item.media_type,
            key=f"download_{item.name}",
            on_click="ignore",
            disabled=reason is not None,
            help=reason,
            width="stretch",
        )
        st.caption(reason or f"{item.description} {OPEN_WITH.get(item.name, '')}".strip())


def unavailable(profile: Profile, name: str) -> str | None:
    """Why a run has nothing for a format; None where it has."""
    if name != "xplane":
        return None
    with suppress(OSError):  # deleted while it was shown
        captured_files = (files_below(folder.xplane) for folder in worker_folders(profile.path))
        if any(file.suffix == ".pb" for files in captured_files for file in files):
            return None
    return "Not available: this run kept no raw captures (capture.keep_xplane)."
