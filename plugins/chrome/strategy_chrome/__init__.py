"""A run as a Chrome trace: an export. Nothing else imports it.

`export` puts the parts together. Format: "Trace Event Format" (Google). Times are microseconds
after the start of the run.
"""
