"""``firstlight audit``: find what will hurt, in all clusters of a repo."""
