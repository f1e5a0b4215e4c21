"""May this change go in? Runs against a baseline file that was accepted before.

`exact` has what does not vary from run to run, `times` what does. `baseline` is the file, `checks`
and `time_checks` the rules, `report` their outcome, and the other files its formats. It starts no
run.
"""
