"""Where a team keeps its own rules in a repo."""

DIRECTORY = "firstlight-rules"
OWNERS = f"{DIRECTORY}/owners.yaml"
"""Who may approve."""
