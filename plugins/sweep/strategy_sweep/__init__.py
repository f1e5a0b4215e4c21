"""Which configuration of a workload is fastest on this machine? A sweep's file and its answer.

`record` is the file: what is swept, and every run that was made. `contest` derives from it which
run comes next and when the sweep ends, `results` what was found, and the other files its formats.
Nothing here starts a run.
"""
