"""What NVIDIA's library says of this machine's cards, asked in a child process: it may hang."""

from __future__ import annotations

import os
import subprocess

import streamlit as st

from strategy_core.processes.import_path import module_command, with_own_code

_WITHIN_S = 3.0


@st.cache_data(ttl=15, show_spinner=False)
def states_of_cards() -> tuple[str, ...]:
    """Return the state of each card in words; none if they are not known in a few seconds."""
    try:
        done = subprocess.run(
            module_command("strategy_core.runtime.nvml"),
            env=with_own_code(os.environ),
            capture_output=True,
            text=True,
            timeout=_WITHIN_S,
            check=True,
        )
        return tuple(done.stdout.splitlines())
    except (OSError, subprocess.SubprocessError, ValueError):
        return ()
