"""The sections of the HTML report; `profiles.exports.html` puts them together.

A section formats answers of `analysis`. It computes no figure.
"""
