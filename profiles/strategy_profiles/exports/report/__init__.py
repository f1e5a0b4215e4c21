"""The sections of the HTML report; `strategy_profiles.exports.html` puts them together.

A section takes its figures from `analysis` and computes none; its template shows them.
"""
