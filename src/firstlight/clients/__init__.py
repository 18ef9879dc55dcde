"""The outside world: the only package whose code talks to programs, servers and the network."""
