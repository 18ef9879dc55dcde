"""What the readers found, joined into one platform: which clusters are one, which origins are one component."""
