"""A team's rules are files of the repo itself: behind a link, nobody would see that they change."""

from firstlight import errors
from firstlight.policy import team_files
from firstlight.repo.work_tree import WorkTree


def check(tree: WorkTree) -> None:
    """See that rules, and who may approve, are where a change of them is seen as one.

    Raises:
        errors.ConfigError: They are behind a link.
    """
    for path, target in tree.links.items():
        if path == team_files.DIRECTORY or path.startswith(f"{team_files.DIRECTORY}/"):
            hint = f"Put what {target} has in its place: changes of it would not be seen as changes of rules."
            raise errors.ConfigError(
                f"it is a link to {target}, and rules are not read from there", path=path, hint=hint
            )
