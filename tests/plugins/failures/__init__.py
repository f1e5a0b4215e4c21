"""Programs that fail, and what is said of their errors."""
