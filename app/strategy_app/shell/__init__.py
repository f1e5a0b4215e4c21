"""What surrounds every page: title, navigation, refresh.

Apart from `pages`, so that a deep link has it too.
"""
