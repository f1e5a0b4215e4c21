"""The runs of a folder for coding agents, over the Model Context Protocol.

No figure is computed here: every answer is the document that page and command line show, too.
"""
