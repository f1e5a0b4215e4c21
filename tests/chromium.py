"""Chromium, as tests and benchmarks start it."""

from __future__ import annotations

import os
import shutil

from playwright.sync_api import Browser, Playwright

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
)


def chromium_path() -> str:
    """The Chromium of this machine, or the one that CHROMIUM names."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chrome")
    if path is None:
        raise RuntimeError("No Chromium found: install it, or set CHROMIUM to its path.")
    return path


def launch_chromium(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
