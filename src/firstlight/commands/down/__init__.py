"""``firstlight down``: wipe the machines of a test cluster."""
