"""``firstlight completion``: shell completion."""
