"""The frame around every page: title, icon, navigation."""
