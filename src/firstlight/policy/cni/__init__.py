"""Upgrades of the network plugin: which steps are allowed, and what is looked at before them."""
