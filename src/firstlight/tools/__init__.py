"""Finds, downloads and builds the programs that firstlight calls and the components that the lab runs.

``install.ensure(names)`` is what the rest of firstlight asks: it answers with a path for each name.
"""
