"""What is checked before the first write, all at once: Git, programs, secrets, machines, what was rendered."""

from firstlight.operate.preflight.git import git
from firstlight.operate.preflight.remarks import remarks
from firstlight.operate.preflight.world import world

__all__ = ["git", "remarks", "world"]
