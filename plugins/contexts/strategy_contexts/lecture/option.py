"""`strategy-lab ui --lecture-port`."""

from __future__ import annotations

from strategy_profiles.ui_options import UiOption
from strategy_profiles.user_input.arguments import whole

PORT = UiOption(
    "--lecture-port",
    whole,
    "port on which phones answer a lecture's questions, on every interface while its room is open "
    "(default: the first free one from 8600)",
)
