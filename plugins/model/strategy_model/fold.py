"""Fold the layers of a deep model to blocks, so that a picture of it stays readable."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST_BLOCKS = 28
_FEWEST_BLOCKS = 4
_TOKENS = re.compile(r"[_/.]")


def fold(layers: Sequence[str]) -> list[list[str]]:
    """Group layers in their order into at most `MOST_BLOCKS` blocks.

    Neighbours with the same beginning form a block (`conv2_block1_1_conv` and
    `conv2_block1_add` are `conv2_block1`): the longest beginning that folds enough is used. If
    none does, as with `dense`, `dense_1`, ..., blocks of equal length are formed.
    """
    if len(layers) <= MOST_BLOCKS:
        return [[layer] for layer in layers]
    tokens = [_TOKENS.split(layer) for layer in layers]
    for length in range(max(map(len, tokens)), 0, -1):
        blocks: list[list[str]] = []
        previous: list[str] | None = None
        for layer, parts in zip(layers, tokens, strict=True):
            if parts[:length] == previous:
                blocks[-1].append(layer)
            else:
                blocks.append([layer])
            previous = parts[:length]
        if _FEWEST_BLOCKS <= len(blocks) <= MOST_BLOCKS:
            return blocks
    size = -(-len(layers) // MOST_BLOCKS)
    return [list(layers[at : at + size]) for at in range(0, len(layers), size)]


def block_title(layers: Sequence[str]) -> str:
    """`conv2_block1 ×12` for twelve layers, or `dense_8 to dense_15 ×8`."""
    if len(layers) == 1:
        return layers[0]
    tokens = [_TOKENS.split(layer) for layer in layers]
    shared = []
    for parts in zip(*tokens, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    is_own = shared and any(len(parts) > len(shared) for parts in tokens) and len(shared) > 1
    named = "_".join(shared) if is_own else f"{layers[0]} to {layers[-1]}"
    return f"{named} ×{len(layers)}"
