"""The lab in a notebook: the magic `strategy_lab`, and a tile of JupyterLab's launcher.

`magic` records a cell and shows its report below it, or opens the page. `jupyter_proxy` is read by
the Jupyter server.
"""
