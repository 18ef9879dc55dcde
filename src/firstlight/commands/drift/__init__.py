"""``firstlight drift``: how a cluster differs from Git, and correcting it."""
