"""``firstlight owners``: who owns each object and field."""
