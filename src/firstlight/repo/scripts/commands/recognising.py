"""Which of the commands of a pipeline are understood, and what each means."""

from collections.abc import Sequence

from firstlight.repo.scripts.commands import flux, helm, helmfile, kubectl, machines, others
from firstlight.repo.scripts.commands.context import Context, Reading
from firstlight.repo.scripts.invocation import Invocation
from firstlight.repo.scripts.step import Role

_MAX_FILES = 1_000
"""That commands write, and are remembered."""
_KUBECTL = {"kubectl", "k", "oc", "kubecolor"}


def read(pipeline: Sequence[Invocation], context: Context) -> list[tuple[Invocation, Reading]]:
    """The understood commands of a pipeline, in their order."""
    found: list[tuple[Invocation, Reading]] = []
    for at, invocation in enumerate(pipeline):
        reading = _one(pipeline, at, invocation, context)
        if reading is None:
            continue
        found.append((invocation, reading))
    output = pipeline[-1].output
    if output is not None and output.is_known and output.text != "/dev/null" and len(context.made) < _MAX_FILES:
        # A file that a later command may apply.
        context.made[output.text.strip()] = tuple(pipeline)
    return found


def _one(pipeline: Sequence[Invocation], at: int, invocation: Invocation, context: Context) -> Reading | None:
    program = invocation.program
    if program in _KUBECTL:
        return kubectl.read(pipeline, at, context)
    if program == "helm":
        return helm.read(invocation, context)
    if program == "flux":
        return flux.read(invocation, context)
    if program == "helmfile":
        return helmfile.read(invocation, context)
    if program == "kustomize":
        return Reading("kustomize build", Role.SUPPORT)
    if program == "argocd":
        return others.argocd(invocation, context)
    if program == "cilium":
        return others.cilium(invocation, context)
    return machines.read(invocation) if program in machines.PROGRAMS else None
