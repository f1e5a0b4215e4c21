"""The frame around every page: title, navigation, refresh."""
