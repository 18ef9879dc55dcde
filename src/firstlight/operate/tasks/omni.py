"""What Omni does in place of firstlight: it configures machines, bootstraps etcd and gives a kubeconfig."""

import posixpath
from collections.abc import Mapping

from firstlight import errors
from firstlight.model import work as works
from firstlight.model.work import Task
from firstlight.operate.tasks.preparing import Ready
from firstlight.repo import work_tree
from firstlight.repo.omni import contents, parsing
from firstlight.repo.work_tree import WorkTree

_LEFT = "Omni: not rehearsed, there is none here; the lab's own machines stand in"


def sync(ready: Ready) -> Task:
    """The template, and where omnictl must run: it looks there for the files that the template names."""
    if ready.is_rehearsal:
        return works.Leave(why=_LEFT)
    path = ready.cluster.omni_template
    tree = WorkTree(ready.platform.root) if path and ready.platform.root.is_dir() else None
    text = tree.text(path) if tree is not None else None
    if tree is None or text is None:
        return works.Refuse(
            why=f"the Omni template of {ready.cluster.name} is not in the repo",
            hint=f"Name it in firstlight.yaml: clusters.{ready.cluster.name}.machines: FILE",
        )
    problems: tuple[errors.ConfigError, ...] = ()
    for directory in dict.fromkeys((posixpath.dirname(path), "")):
        found = parsing.problems(text, path, files=_files(tree, path, directory))
        if not found:
            return works.SyncTemplate(
                template=tree.root / path, directory=tree.root / directory, cluster=_name(tree, path)
            )
        problems = problems or found
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return works.Refuse(why=f"{problems[0].message}{more}", hint=problems[0].hint)


def name(ready: Ready) -> str:
    """What Omni calls the cluster; empty for one that is not Omni's, in a rehearsal, and for a wrong template."""
    found = sync(ready)
    return found.cluster if isinstance(found, works.SyncTemplate) else ""


def _name(tree: WorkTree, path: str) -> str:
    values = [each.value for each in tree.documents(path)]
    clusters = [each for each in values if isinstance(each, Mapping) and each.get("kind") == "Cluster"]
    return str(clusters[0].get("name") or "") if clusters else ""


def _files(tree: WorkTree, template: str, directory: str) -> contents.Files:
    """Reads what a template names, from where omnictl would run; never outside of the repo."""

    def text(named: str, line: int) -> tuple[str, str]:
        path = work_tree.join(directory, named)
        found = tree.text(path) if path is not None else None
        if path is None or found is None:
            hint = "omnictl looks for it where it runs: all files beside the template, or all from the top of the repo."
            raise errors.ConfigError(f"there is no file {named}", path=template, line=line, hint=hint)
        return found, path

    return text
