"""Work on the machines of a cluster that lives: listed, configured, maintained, upgraded, added and removed."""
