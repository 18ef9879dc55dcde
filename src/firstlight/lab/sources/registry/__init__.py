"""An OCI distribution registry: content by digest on disk, names and tags as links to it."""
