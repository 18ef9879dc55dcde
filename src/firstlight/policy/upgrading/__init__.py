"""Upgrades of Talos and Kubernetes, and machines that leave: the way from version to version, the order, what is no."""
