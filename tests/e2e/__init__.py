"""Whole paths: a click or a command, worker processes, the run folder, real Chromium."""
