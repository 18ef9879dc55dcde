"""From what is wrong with a cluster to the ways back: ``options.yaml`` has them, the code only chooses."""
