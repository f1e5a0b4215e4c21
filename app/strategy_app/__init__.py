"""The lab in the browser: it shows, and takes requests.

Figures are computed in `strategy_profiles`, runs are started in `strategy_core`. No TensorFlow.
"""
