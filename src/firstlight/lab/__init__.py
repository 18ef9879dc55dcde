"""A real control plane with simulated nodes on one machine: the base of tests, demos and rehearsals."""
