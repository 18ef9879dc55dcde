"""The audit: what rules look at is gathered, they are run, and what they find is excused, fixed, kept and watched."""
