"""The checks of a decision, before and after the change."""
