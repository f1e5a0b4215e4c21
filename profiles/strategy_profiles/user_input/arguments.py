"""Numbers and addresses among the arguments of a command, for `argparse`.

All others are refused in a sentence; a number, by its length before it is read.
"""

from __future__ import annotations

import argparse
import math

from strategy_profiles.user_input.text import TextError, parse_whole, quoted


def whole(text: str) -> int:
    """Return the integer, of at most 64 bits, that an argument is."""
    digits = text.strip().removeprefix("-")
    try:
        number = parse_whole(digits)
    except TextError as error:
        raise argparse.ArgumentTypeError(f"{quoted(text)} {error}") from None
    return number if digits == text.strip() else -number


def number(text: str) -> float:
    """Return the finite number that an argument is."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not a finite number")
    return value


def address(text: str) -> str:
    """Return the name or address of a host that an argument is; IPv6 may be in brackets."""
    host = text.removeprefix("[").removesuffix("]")
    try:
        host.encode("idna")
    except UnicodeError:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not an address") from None
    return host
