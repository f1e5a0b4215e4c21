"""The parts of the Chrome trace; `profiles.exports.chrome_trace` puts them together.

Format: "Trace Event Format" (Google). Times are microseconds after the start of the run.
"""
