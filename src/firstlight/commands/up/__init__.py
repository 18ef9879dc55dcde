"""``firstlight up``: bring a cluster up from bare machines."""
