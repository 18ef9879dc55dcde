"""Where a team keeps its own rules in a repo."""

from firstlight import errors
from firstlight.repo.work_tree import WorkTree

DIRECTORY = "firstlight-rules"
OWNERS = f"{DIRECTORY}/owners.yaml"
"""Who may approve."""
DRILLS = f"{DIRECTORY}/drills.yaml"
"""When clusters were last brought back from their backups."""
WITHOUT_RULES = (OWNERS, DRILLS)
"""What stands beside the rules and has none."""

DRILL_RECORD = f"{DIRECTORY}/drills.yaml"
"""Where drills are recorded: a list of {cluster, day, what}."""


# A team's rules are files of the repo itself: behind a link, nobody would see that they change.


def check_links(tree: WorkTree) -> None:
    """See that rules, and who may approve, are where a change of them is seen as one.

    Raises:
        errors.ConfigError: They are behind a link.
    """
    for path, target in tree.links.items():
        if path == DIRECTORY or path.startswith(f"{DIRECTORY}/"):
            hint = f"Put what {target} has in its place: changes of it would not be seen as changes of rules."
            raise errors.ConfigError(
                f"it is a link to {target}, and rules are not read from there", path=path, hint=hint
            )
