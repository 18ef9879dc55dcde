"""Scripts read: what they deploy as origins, with file and line."""

from firstlight.repo.found import Found
from firstlight.repo.scripts import survey
from firstlight.repo.scripts.step import HelmfileCall, ScriptStep
from firstlight.repo.work_tree import WorkTree


def read(tree: WorkTree) -> Found:
    """What Taskfiles, justfiles, Makefiles, mise tasks and shell scripts deploy; nothing is run."""
    found = survey.of(tree)
    return Found(clusters=found.clusters, origins=found.origins, unreached=found.unreached, remarks=found.remarks)


def steps(tree: WorkTree) -> tuple[ScriptStep, ...]:
    """Every command that is understood: what deploys, waits, changes, acts on machines or fetches secrets."""
    return survey.of(tree).steps


def helmfile_calls(tree: WorkTree) -> tuple[HelmfileCall, ...]:
    """Every command that runs helmfile."""
    return survey.of(tree).helmfiles
