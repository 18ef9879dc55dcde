"""``firstlight demo``: an example platform brought up on this computer."""
