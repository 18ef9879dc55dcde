"""What is checked before the first write, all at once: Git, commands, programs, secrets, machines, renders."""

from firstlight.operate.preflight.commands import commands
from firstlight.operate.preflight.git import git
from firstlight.operate.preflight.handover import handover
from firstlight.operate.preflight.machines import GONE, addresses
from firstlight.operate.preflight.remarks import declared, remarks
from firstlight.operate.preflight.world import world

__all__ = ["GONE", "addresses", "commands", "declared", "git", "handover", "remarks", "world"]
