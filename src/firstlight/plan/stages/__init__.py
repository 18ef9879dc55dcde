"""The steps of each phase, as the design's table has them."""
