"""``firstlight inventory``: clusters, machines and components of a repo."""
