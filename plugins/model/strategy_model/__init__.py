"""The model's graph by layers, as its ops were placed, and the transfers between devices.

`picture` computes it from a run, without a drawing; `chart` makes the figure, and `on_devices` the
section of the page Placement.
"""
