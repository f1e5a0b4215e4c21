"""The training itself: model, data, step, loop, state, and the trainer that the worker drives."""
