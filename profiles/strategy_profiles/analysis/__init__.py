"""One question per file; each answer is a frozen dataclass.

Reads tables only. Nothing here draws, prints or opens files.
"""
