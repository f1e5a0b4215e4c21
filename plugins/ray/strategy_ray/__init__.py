"""Runs whose processes Ray Train places: `strategy-lab worker --cluster ray`."""

from strategy_profiles.extras import Extra

EXTRA = Extra("ray", "ray", "runs whose processes Ray places")
