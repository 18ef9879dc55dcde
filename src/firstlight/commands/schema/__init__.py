"""``firstlight schema``: print JSON Schemas."""
