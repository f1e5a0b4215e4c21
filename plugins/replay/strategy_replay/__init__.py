"""What a step would take, predicted: with something changed, without a finding, on more replicas.

- `engine` replays captured steps with edits;
- `whatif` shows and prints predictions, `trying` makes a change in new runs and compares;
- `scaling` predicts the step on more replicas from runs on fewer;
- `predictor` answers what the rest of the lab asks.
"""
