"""Numbered commands to a run, and what became of each: applied is what the run says, not we."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from strategy_app.widgets.text import as_markdown
from strategy_profiles.reporting.units import milliseconds, seconds

SHOWN = 3


@dataclass(frozen=True, slots=True)
class Command:
    """A command that was sent; `answer` is the run's `answer` event, None while it waits."""

    number: int
    text: str
    answer: Mapping[str, Any] | None = None

    @property
    def is_rejected(self) -> bool:
        return self.answer is not None and self.answer.get("status") != "applied"


def with_answers(sent: Mapping[int, str], news: Iterable[Mapping[str, Any]]) -> list[Command]:
    """The commands in order, each with its answer if it has one."""
    answers = {item.get("number"): item for item in news if item["kind"] == "answer"}
    return [Command(number, text, answers.get(number)) for number, text in sorted(sent.items())]


def show_commands(commands: list[Command]) -> None:
    """The newest commands, newest first."""
    for command in list(reversed(commands))[:SHOWN]:
        text = f"**{command.number}** {as_markdown(command.text, 200)}"
        answer = command.answer
        if answer is None:
            st.markdown(f":small[:gray[○ {text}: sent, not yet applied]]")
        elif command.is_rejected:
            reason = as_markdown(answer.get("message") or "no reason given", 400)
            st.error(f"{text}: rejected. {reason}")
        else:
            took = answer.get("took_ms")
            after = (
                f" in {milliseconds(took) if took < 1000 else seconds(took / 1000)}" if took else ""
            )
            if answer.get("message"):
                st.markdown(f":small[:green[●] {text}: {as_markdown(answer['message'], 400)}]")
                continue
            # Steps are counted from 0: the newest of them is the first with the change.
            done = answer.get("step")
            step = f" at step {max(done - 1, 0)}" if done is not None else ""
            st.markdown(f":small[:green[●] {text}: applied{step}{after}]")
