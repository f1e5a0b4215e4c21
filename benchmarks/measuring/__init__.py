"""How benchmarks measure: sides in turns, ratios and their intervals, browsers, runs of known work.

None of it is a command.
"""
