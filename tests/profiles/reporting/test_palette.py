"""What is written on a replica's colour can be read, on any of them."""

from __future__ import annotations

import pytest

from strategy_lab.profiles.reporting.palette import REPLICA_COLOURS, ink_on

READABLE = 4.2
"""WCAG asks for 4.5 of small text, for 3 of large or bold text: ours is a label of three lines."""


@pytest.mark.parametrize("colour", REPLICA_COLOURS)
def test_text_on_a_replicas_colour_is_readable(colour: str) -> None:
    lighter, darker = sorted((luminance(colour), luminance(ink_on(colour))), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) > READABLE


def test_light_grounds_get_dark_text_and_dark_ones_light() -> None:
    assert ink_on("#FFFFFF") == "#16202B"
    assert ink_on("#000000") == "#FFFFFF"


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
