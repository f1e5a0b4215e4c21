"""What the tab needs, for `strategy-lab doctor`."""

from __future__ import annotations

from strategy_profiles.extras import Extra

EXTRA = Extra("tensorboard", "tensorboard", "the lab's tab in TensorBoard")
