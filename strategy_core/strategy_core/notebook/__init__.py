"""The cell magic `%%strategy_lab`: records a cell of a notebook and shows its report below.

Only IPython imports it, through `%load_ext strategy_core`.
"""
