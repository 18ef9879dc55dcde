"""Where a team keeps its own rules in a repo."""

DIRECTORY = "firstlight-rules"
OWNERS = f"{DIRECTORY}/owners.yaml"
"""Who may approve."""
DRILLS = f"{DIRECTORY}/drills.yaml"
"""When clusters were last brought back from their backups."""
WITHOUT_RULES = (OWNERS, DRILLS)
"""What stands beside the rules and has none."""
