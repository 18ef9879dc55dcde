"""``firstlight explain``: what a component, phase, rule or word is, and why it is there."""
