"""``firstlight tools``: external programs and lab components."""
