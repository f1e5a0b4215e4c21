"""One question per file; each answer is a frozen dataclass. Nothing here draws or prints."""
