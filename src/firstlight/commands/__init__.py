"""What people do with a cluster: bring it up, verify it, rehearse it."""
