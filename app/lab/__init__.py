"""The Lab page in parts: configure a run, watch it, change it while it runs."""
