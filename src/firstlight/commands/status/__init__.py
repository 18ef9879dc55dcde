"""``firstlight status``: how the newest run stands."""
