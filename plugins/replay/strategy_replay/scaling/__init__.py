"""Step time on more replicas than were recorded: collectives by a model, steps by their phases.

    runs = [strategy_profiles.load("runs/one"), strategy_profiles.load("runs/two")]
    found = predict_scaling(runs, [4, 8])
    found.steps[0].step_ms, found.steps[0].low_ms, found.steps[0].high_ms

Free of TensorFlow. `scaling.md` of this leaf has the model, its interval and its measured error. A
change of the recorded configuration itself belongs to `engine`.
"""
