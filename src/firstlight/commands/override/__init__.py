"""``firstlight override``: an emergency change past Git, with a way back to Git."""
