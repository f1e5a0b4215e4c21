"""Pure functions from columns and analysis results to Plotly figures, one idea per file.

They read no run and hold no text or ground colour of their own, so that the page's theme shows
through; phases and replicas take their fixed colours from `strategy_profiles.reporting.palette`.
"""
