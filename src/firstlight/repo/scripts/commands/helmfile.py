"""``helmfile``: which files for which environment; what is in them is another reader's."""

from collections.abc import Sequence

from firstlight.repo.scripts import flags
from firstlight.repo.scripts.commands.context import Context, Reading
from firstlight.repo.scripts.invocation import Invocation
from firstlight.repo.scripts.shell.expansion import Text
from firstlight.repo.scripts.step import HelmfileCall, Role

_VALUED = flags.names(
    """
    file environment selector namespace kube-context kubeconfig state-values-file state-values-set
    state-values-set-string log-level helm-binary kustomize-binary args set values output concurrency chart
    context diff-args output-dir output-dir-template output-file-template kube-version color post-renderer
    """
)
_SHORT = {"f": "file", "e": "environment", "l": "selector", "n": "namespace", "b": "helm-binary", "q": "quiet",
          "o": "output", "c": "chart", "k": "kustomize-binary", "i": "interactive"}  # fmt: skip
_DEPLOYS = {"apply", "sync", "charts"}
_CHANGES = {"destroy", "delete"}
_DEFAULTS = ("helmfile.yaml", "helmfile.yaml.gotmpl", "helmfile.d")


def read(invocation: Invocation, context: Context) -> Reading:
    """What a helmfile command means."""
    found = call(invocation, context, pipeline=[invocation])
    kind = f"helmfile {found.verb}".strip()
    if found.verb in _DEPLOYS:
        return Reading(kind, Role.DEPLOY, helmfile=found)
    return Reading(
        kind, Role.CHANGE if found.verb in _CHANGES else Role.SUPPORT if found.verb == "template" else Role.GATE
    )


def call(invocation: Invocation, context: Context, *, pipeline: Sequence[Invocation]) -> HelmfileCall:
    """The call, with its files found in the repo."""
    words = flags.parse(invocation.words[1:], valued=_VALUED, short=_SHORT)
    verb = words.positional[0].text if words.positional else ""
    environment = words.one("environment")
    files: list[str] = []
    doubts: list[str] = []
    given = words.all("file")
    for each in given or (Text(name) for name in _DEFAULTS):
        found = context.lookup.find(invocation.directory, each)
        if found.path:
            files.append(found.path)
        if given and found.doubt:
            doubts.append(found.doubt)
    if not environment.is_known:
        doubts.append(f"{', '.join(environment.unknowns)} is only known when it runs")
    later = [word.text for other in pipeline for word in other.words if other is not invocation]
    return HelmfileCall(
        place=invocation.place,
        files=tuple(files),
        environment=environment.text if environment.is_known else "",
        verb=verb,
        is_crds="--include-crds" in [word.text for word in invocation.words]
        or any("CustomResourceDefinition" in text for text in later),
        is_reached=False,
        task="",
        doubt="; ".join(dict.fromkeys(doubts)),
    )
