"""A work tree read as it is: files in, a platform out. Nothing is executed, and nothing outside the tree is read."""
