"""The folders that the hosts of a run each wrote, as one run folder."""
