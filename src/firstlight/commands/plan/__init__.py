"""``firstlight plan``: show the steps of a run and what blocks it."""
