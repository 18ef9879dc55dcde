"""Components inside machine configs: what Talos or Omni applies before any engine runs, made from what Git says.

``making.make`` is the way in. It prepares the objects of a rendition, checks them against what Talos does with them,
and splices them into a file in which nothing else changes.
"""
