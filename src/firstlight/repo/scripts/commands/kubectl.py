"""``kubectl``: what it applies and creates; what only looks, waits or changes is no component."""

import dataclasses
from collections.abc import Sequence

from firstlight.model.component import Form, ObjectId, Origin
from firstlight.model.source import Directory, Sources, Unresolved
from firstlight.repo.scripts.commands import creating, kubectl_flags, manifests, phase, producing
from firstlight.repo.scripts.commands.context import Context, Reading, origin
from firstlight.repo.scripts.commands.manifests import Manifests
from firstlight.repo.scripts.flags import Flags
from firstlight.repo.scripts.invocation import Invocation
from firstlight.repo.scripts.shell.expansion import Text
from firstlight.repo.scripts.step import HelmfileCall, Role

_APPLIES = {"apply", "create", "replace"}
_GATES = {"get", "wait", "describe", "logs", "diff", "version", "cluster-info", "config", "top", "explain", "auth",
          "api-resources", "api-versions", "port-forward", "exec", "proxy", "cp", "events", "kustomize"}  # fmt: skip
_CHANGES = {"delete", "patch", "label", "annotate", "scale", "set", "edit", "taint", "cordon", "uncordon", "drain",
            "expose", "autoscale", "run", "debug", "certificate"}  # fmt: skip


def read(pipeline: Sequence[Invocation], at: int, context: Context) -> Reading | None:
    """What a kubectl command means; what feeds it stands before it in the pipeline."""
    invocation = pipeline[at]
    words = kubectl_flags.parse(invocation)
    verb = words.positional[0].text if words.positional else ""
    kind = f"kubectl {verb}"
    second = words.positional[1].text if len(words.positional) > 1 else ""
    if verb == "rollout":
        return Reading(f"{kind} {second}", Role.GATE if second in ("status", "history") else Role.CHANGE)
    if verb in _GATES or (verb == "create" and second == "token"):
        return Reading(kind, Role.GATE)
    if verb in _CHANGES:
        return Reading(kind, Role.CHANGE)
    if verb not in _APPLIES:
        return None
    if verb == "create" and second:
        kind = f"{kind} {second}"
    if kubectl_flags.is_dry(words):
        # Printed for the next command of the pipeline, or for nobody.
        return Reading(kind, Role.SUPPORT if at + 1 < len(pipeline) else Role.GATE)
    if creating.is_namespace(invocation):
        return Reading(kind, Role.SUPPORT)
    if verb == "create" and second:
        return Reading(kind, Role.DEPLOY, creating.created(pipeline[at:], context))
    return _applied(pipeline, at, words, kind, context)


def _applied(pipeline: Sequence[Invocation], at: int, words: Flags, kind: str, context: Context) -> Reading:
    invocation = pipeline[at]
    found: list[Manifests] = []
    form = Form.KUBECTL_COMMAND
    for given in words.all("filename"):
        for each in given.text.split(","):
            path = Text(each.strip(), given.unknowns)
            if each in ("-", "/dev/stdin"):
                made = producing.read(pipeline[:at], invocation, context)
                if made is None:
                    return Reading(kind, Role.SUPPORT)
                if isinstance(made, HelmfileCall):
                    return Reading(kind, Role.DEPLOY, helmfile=made)
                if isinstance(made, Origin):
                    return Reading(kind, Role.DEPLOY, made)
                form = made.form
                found.append(made.manifests)
            elif path.text.strip() in context.made or path.text in invocation.inner:
                before = invocation.inner.get(path.text) or context.made[path.text.strip()]
                made = producing.read(before, invocation, context)
                if made is None:
                    return Reading(kind, Role.SUPPORT)
                if isinstance(made, Origin):
                    return Reading(kind, Role.DEPLOY, made)
                if isinstance(made, producing.Fed):
                    found.append(made.manifests)
            else:
                is_deep = words.has("recursive")
                found.append(
                    manifests.from_path(context.lookup, invocation.directory, path, kustomize=False, recurse=is_deep)
                )
    found += [
        manifests.from_path(context.lookup, invocation.directory, given, kustomize=True)
        for given in words.all("kustomize")
    ]
    if not found:
        found = [Manifests(Unresolved(text=kind, reason="the command names no files"), "", doubt="it names no files")]
    return Reading(kind, Role.DEPLOY, _origin(pipeline, words, found, form, context))


def _origin(
    pipeline: Sequence[Invocation], words: Flags, found: Sequence[Manifests], form: Form, context: Context
) -> Origin:
    namespace = words.one("namespace")
    inside = namespace.text if namespace.is_known else ""
    objects = [_placed(each, inside) for one in found for each in one.objects]
    texts = [each.source.path if isinstance(each.source, Directory) else each.name for each in found]
    written = [
        word.text for invocation in pipeline for word in invocation.words[1:] if "/" in word.text or "crd" in word.text
    ]
    return origin(
        pipeline,
        form=form,
        name=found[0].name,
        namespace=inside or (found[0].namespace if len(found) == 1 else ""),
        source=found[0].source if len(found) == 1 else Sources(each=tuple(each.source for each in found)),
        version=found[0].version,
        cluster=context.cluster(words.one("context").text, *_of_path(texts)),
        phase=phase.of([*texts, *written], objects=objects, names=[each.name for each in found]),
        objects=objects,
        doubts=[each.doubt for each in found],
        definition={key: True for key in ("server-side", "force-conflicts", "prune") if words.has(key)},
    )


def _placed(made: ObjectId, namespace: str) -> ObjectId:
    """An object that names no namespace goes to the one that the command names."""
    if made.namespace or made.kind in creating.CLUSTER_WIDE:
        return made
    return dataclasses.replace(made, namespace=namespace)


def _of_path(texts: Sequence[str]) -> list[str]:
    """The name after ``clusters/`` in all paths, if it is the same: such files are that cluster's alone."""
    names = {parts[parts.index("clusters") + 1] for text in texts if "clusters" in (parts := text.split("/"))[:-1]}
    return list(names) if len(names) == 1 else []
