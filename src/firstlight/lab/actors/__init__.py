"""Real controllers that run as processes of the lab, beside simulated pods."""
