"""Imports the modules of rules, one per group of ops; each registers its rules."""

from __future__ import annotations

from importlib import import_module

FAMILIES = (
    "elementwise",
    "reductions",
    "contraction",
    "convolution",
    "pooling",
    "normalisation",
    "softmax",
    "indexing",
    "shaping",
    "slicing",
    "lists",
)


def load() -> None:
    """Fill the table of rules."""
    for family in FAMILIES:
        import_module(f"strategy_core.tpu.partitioner.{family}")
