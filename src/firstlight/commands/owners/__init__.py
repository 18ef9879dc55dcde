"""owners."""
