"""Looks at a cluster that may be broken: machines, API, objects, events and logs, each as far as it still answers."""
