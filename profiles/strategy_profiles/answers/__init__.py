"""What is said of a question about a run, as data, and the renderers that show it.

An answer (`answer`) knows nothing of where it is shown; a renderer knows nothing of what it shows.
`strategy_core.cli` writes it for a terminal, `strategy_app.screen` for a page, a leaf for the
report. A question (`strategy_profiles.questions`) writes its answer once, for all of them.
"""
