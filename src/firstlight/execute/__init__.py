"""A plan carried out: the loop, the actions, the lock."""
