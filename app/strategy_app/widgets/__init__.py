"""What several pages are made of: tiles, tables, pickers, banners.

A widget renders. It computes no figure.
"""
