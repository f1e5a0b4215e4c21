"""The parts of the Chrome trace; `strategy_profiles.exports.chrome_trace` puts them together.

Format: "Trace Event Format" (Google). Times are microseconds after the start of the run.
"""
