"""Model, data, step, loop and state, and the trainer that opens and changes segments.

Knows neither processes nor commands: `worker` drives it.
"""
