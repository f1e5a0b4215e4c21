"""What several pages are made of:

tiles, tables, pickers, banners. A widget renders; it computes no figure.
"""
