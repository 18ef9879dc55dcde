"""``firstlight lab``: a real control plane with simulated nodes on this computer."""
