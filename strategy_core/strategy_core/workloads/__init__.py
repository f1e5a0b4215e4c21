"""Built-in workloads: one file each, such as a user could have written.

Nothing else: `planning.workload_catalog` lists them, `training.workload` loads them.
"""
