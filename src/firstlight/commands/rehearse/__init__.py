"""A run in the lab on the user's own repo: what stands for what, the copies that it needs, and what came of it."""
