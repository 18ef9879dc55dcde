"""The checks before and after a change: a file each. They read, and dry-run; nothing is written to a cluster."""
