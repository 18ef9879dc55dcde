"""``verify``: whether a cluster is what it was brought up to be, with one file for each thing that is looked at."""
