"""``firstlight init``: write firstlight.yaml from what was inferred."""
