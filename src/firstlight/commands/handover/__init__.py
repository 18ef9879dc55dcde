"""The passing of a cluster to its engine as a command of its own, and certificates held against the cluster again."""
