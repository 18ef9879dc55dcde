"""What the lab pretends because no real program does it."""
