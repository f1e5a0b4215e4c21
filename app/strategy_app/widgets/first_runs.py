"""How runs come into the folder without the Lab: recorded programs, imports, and examples."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from strategy_app.server import state
from strategy_app.widgets.links import open_page
from strategy_app.widgets.text import as_markdown
from strategy_profiles.errors import LabError
from strategy_profiles.examples import EXAMPLES, unpack
from strategy_profiles.importers import import_profile, importers, what_is_read
from strategy_profiles.user_input.files import find

LARGEST_MB = 200
"""Of a dropped file: it is in this process's memory until it is imported."""
_LONGEST_NAME = 100
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_.-]+")
_REFUSED = "refused_files"


def offer_first_runs(root: Path) -> None:
    """A command to copy, a place for files, and a button for each example, which opens it."""
    st.markdown("Record a program of your own, unchanged:")
    st.code(command("trace train.py", root), language=None, wrap_lines=True)
    profiles = ", or a profile of another program" if importers() else ""
    st.markdown(f"Import a packed run{profiles}:")
    _offer_drop(root)
    if not state.lab().access.why_no_own_code:
        _offer_path(root)
    st.markdown("Or look at an example:")
    with st.container(horizontal=True):
        for example in EXAMPLES:
            if st.button(example.title, key=f"example_{example.name}"):
                st.error(as_markdown(_open(partial(unpack, example, root))))


@st.dialog("More runs")
def show_more_runs(root: Path) -> None:
    """Offer them in a dialog, where the folder has runs already."""
    offer_first_runs(root)


def command(words: str, root: Path) -> str:
    """A command whose run this lab shows: it names the lab's folder, unless that is the default."""
    verb, _, rest = words.partition(" ")
    where = (
        ""
        if root.resolve() == Path("runs").resolve()
        else f" --runs {shlex.quote(str(root.resolve()))}"
    )
    return f"strategy-lab {verb}{where} {rest}"


def _offer_drop(root: Path) -> None:
    dropped = st.file_uploader(
        "Drop a file here",
        max_upload_size=LARGEST_MB,
        key="dropped",
        help=f"The lab reads {'; '.join(what_is_read())}.",
    )
    if dropped is None:
        return
    refused = st.session_state.setdefault(_REFUSED, {})  # the script runs again with the same file
    if dropped.file_id not in refused:
        with st.spinner("Importing"):
            refused[dropped.file_id] = _open(partial(import_dropped, dropped, root))
    if why := refused[dropped.file_id]:
        st.error(as_markdown(why))


def _offer_path(root: Path) -> None:
    with (
        st.form("import_path", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        given = st.text_input(
            "Or the path of a file or folder on this machine",
            key="import_from",
            placeholder="logs/plugins/profile",
        )
        is_asked = st.form_submit_button("Import")
    if is_asked:
        with st.spinner("Importing"):
            why = _open(partial(_import_path, given.strip(), root))
        st.error(as_markdown(why))


def _import_path(given: str, root: Path) -> Path:
    return import_profile(find(given, "The path").path, runs=root)


def import_dropped(dropped: UploadedFile, root: Path) -> Path:
    """Return the run folder of a file that a browser sent, under the file's own name."""
    name = _NOT_PLAIN.sub("-", dropped.name)[-_LONGEST_NAME:].lstrip(".") or "profile"
    with tempfile.TemporaryDirectory(prefix="dropped-into-the-page-") as folder:
        path = Path(folder) / name
        path.write_bytes(dropped.getbuffer())
        try:
            return import_profile(path, runs=root)
        except LabError as error:
            raise LabError(str(error).replace(f"{folder}/", "")) from None


def _open(make: Callable[[], Path]) -> str:
    """Open the page of the run that is made, which ends the script. Returns why none was made."""
    try:
        run = make()
    except LabError as error:
        return str(error)
    open_page("overview", run.name)
    return ""
