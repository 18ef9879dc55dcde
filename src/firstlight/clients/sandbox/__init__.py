"""Limits for every program that is started: memory, processor time, file size, processes and the network."""
