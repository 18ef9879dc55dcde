"""Why something waits, told from what it left behind: conditions of nodes and pods, events, refusals."""
