"""The model's graph by layers, as its ops were placed, and the transfers between devices.

No drawing: `strategy_app.charts.model_graph` makes the figure.
"""
