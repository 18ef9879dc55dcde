"""The path of a change that upgrades the CNI."""
