"""Where a change belongs, how dangerous it is, who must agree, and how it is done: decided by rules that are data."""
