"""``firstlight decide``: where a change belongs, its risk, approvals, procedure and checks."""
