"""``firstlight render``: the objects of components, and inline manifests."""
