"""A captured step as a graph: what each op waited for, the critical path, and the slack of each op.

    recording = read_recording(profile, 0)
    graph = StepBuilder(recording, read_rows(profile, 0, [step])).build(step)
    critical_path(graph), slack_ns(graph)

What a step would take with something changed is for packages to say (`predictors`).
"""
