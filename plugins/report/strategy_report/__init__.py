"""The HTML report: one self-contained file of a run, which opens offline and can be printed.

`export` puts its sections together, `page` what is around them. A section takes its figures from
`analysis` or answers of `questions`, and computes none; `html` writes an answer, templates the
rest. `routes` serves it behind the page's gate.
"""
