"""What became of a run, where it did not simply finish: said once, on top of its pages."""

from __future__ import annotations

import streamlit as st

from strategy_app.widgets.text import as_markdown, as_sentence
from strategy_profiles.analysis.losses import loss
from strategy_profiles.run.events import Failed, Note
from strategy_profiles.run.status import Status
from strategy_profiles.tables.store import Profile

MAX_NOTES = 6


def show_status(profile: Profile, *, is_headline: bool = False) -> None:
    """A banner for a run that did not simply finish, and for files that cannot be read.

    Args:
      is_headline: whether the page's headline says how the run ended, as that of a run without a
        segment always does.
    """
    if profile.segments and not is_headline:
        _show_end(profile.status)
    if profile.status.state == "failed":
        _show_loss(profile)
        _show_detail(profile)
    if profile.is_imported:
        infos = [note.message for note in profile.events(Note) if note.level == "info"]
        _show_notes("What was imported", infos)
    warnings = [note.message for note in profile.events(Note) if note.level == "warning"]
    _show_notes("Warnings of the run", warnings)
    _show_notes("Parts of the record that could not be read", list(profile.notes))


def _show_end(status: Status) -> None:
    message = as_markdown(as_sentence(status.message or ""), 600)
    if status.state == "failed":
        st.error(f"**This run failed.** {message} The pages show what was recorded before.")
    elif status.state == "incomplete":
        st.warning(f"**This run is incomplete.** {message} The pages show what was recorded.")
    elif status.state == "stopped" and message:
        st.warning(f"**This run was stopped.** {message} The pages show what was recorded.")
    elif status.state == "running":
        st.info("**This run is still running.**")


def _show_loss(profile: Profile) -> None:
    """List which process of a run was lost, which others noticed, and how."""
    lost = loss(profile)
    if lost is not None:
        st.markdown("\n".join(f"1. {as_markdown(line, 400)}" for line in lost.sentences))


def _show_detail(profile: Profile) -> None:
    details = [failed.detail for failed in profile.events(Failed) if failed.detail]
    if details:
        with st.expander("Details of the failure"):
            st.code(details[-1][:20_000], language=None, wrap_lines=True)


def _show_notes(title: str, notes: list[str]) -> None:
    if not notes:
        return
    with st.expander(f"{title} ({len(notes)})"):
        for note in notes[:MAX_NOTES]:
            st.markdown(f"- {as_markdown(note, 400)}")
        if len(notes) > MAX_NOTES:
            st.markdown(f"- and {len(notes) - MAX_NOTES} more")
