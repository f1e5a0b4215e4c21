"""Text and paths that people wrote, read with limits and refused in a sentence."""
