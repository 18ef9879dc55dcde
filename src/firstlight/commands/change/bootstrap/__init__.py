"""The path of a change that belongs to bootstrap: machines and components."""
