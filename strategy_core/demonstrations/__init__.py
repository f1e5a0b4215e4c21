"""Programs of several processes that show one thing each, and say what they see."""
