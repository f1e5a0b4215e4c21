"""What is said of a question about a run, as data, and the renderers that show it.

An answer (`answer`) knows nothing of where it is shown; a renderer knows nothing of what it shows.
`html` writes it for the report, `strategy_core.cli` for a terminal, `strategy_app.screen` for a
page. A question (`strategy_profiles.questions`) writes its answer once, for all of them.
"""
