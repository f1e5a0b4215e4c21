"""The parts of the Chrome trace; `strategy_chrome.export` puts them together.

Format: "Trace Event Format" (Google). Times are microseconds after the start of the run.
"""
