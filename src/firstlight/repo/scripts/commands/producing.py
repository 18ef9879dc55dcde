"""What feeds ``kubectl apply -f -``: the commands before it in the pipeline, or a heredoc."""

import dataclasses
from collections.abc import Sequence

from firstlight.model.component import Form, Origin
from firstlight.model.source import Directory, Unresolved
from firstlight.repo.scripts import flags, masking, plain
from firstlight.repo.scripts.commands import creating, flux, helm, helmfile, manifests
from firstlight.repo.scripts.commands.context import Context
from firstlight.repo.scripts.commands.manifests import Manifests
from firstlight.repo.scripts.invocation import Invocation
from firstlight.repo.scripts.shell.expansion import Text
from firstlight.repo.scripts.step import HelmfileCall

_KUSTOMIZE = {
    "load-restrictor",
    "enable-alpha-plugins",
    "output",
    "env",
    "reorder",
    "mount",
    "network-name",
    "as-current-user",
}
_OP = {"i", "in-file", "o", "out-file", "account", "in", "file-mode", "session", "config", "format", "encoding"}
_PLAIN_FEEDERS = {
    "cat",
    "curl",
    "wget",
    "envsubst",
    "sops",
    "op",
    "gomplate",
    "minijinja-cli",
    "yq",
    "sed",
    "jq",
    "gpg",
}
_DECRYPTS = {"sops": "sops", "gpg": "gpg"}


@dataclasses.dataclass(frozen=True, slots=True)
class Fed:
    """Manifests that come out of other commands."""

    manifests: Manifests
    form: Form = Form.KUBECTL_COMMAND


def read(before: Sequence[Invocation], applier: Invocation, context: Context) -> Fed | Origin | HelmfileCall | None:
    """What arrives at the command that applies it; the first command that can be the source of it counts.

    None is for a namespace, which is no component.
    """
    if applier.feed is not None and not before:
        return Fed(_feed(applier, context))
    whole = [*before, applier]
    for n, invocation in enumerate(before):
        verb = next((word.text for word in invocation.words[1:] if not word.text.startswith("-")), "")
        program = invocation.program
        if program == "helm" and "template" in [word.text for word in invocation.words[1:4]]:
            return helm.release(whole[n:], context)
        if program == "helmfile":
            return helmfile.call(invocation, context, pipeline=whole)
        if program == "kustomize" or (program == "kubectl" and verb == "kustomize"):
            return Fed(_kustomize(invocation, context), Form.KUSTOMIZE_COMMAND)
        if creating.is_dry_create(invocation):
            return None if creating.is_namespace(invocation) else creating.created(whole[n:], context)
        if program == "flux":
            return flux.exported(whole[n:], context)
        if invocation.feed is not None:
            return Fed(_feed(invocation, context))
        found = _file(invocation, context)
        if found is not None:
            return Fed(found)
    text = plain.line(masking.line([each.words[:3] for each in before])) or "standard input"
    reason = "what it applies is the output of another command"
    return Fed(Manifests(Unresolved(text=text, reason=reason), before[0].program if before else "", doubt=reason))


def _feed(invocation: Invocation, context: Context) -> Manifests:
    assert invocation.feed is not None
    if invocation.feed.is_file:
        return manifests.from_path(context.lookup, invocation.directory, invocation.feed.text, kustomize=False)
    return manifests.from_feed(invocation.feed, invocation.place.path)


def _kustomize(invocation: Invocation, context: Context) -> Manifests:
    words = flags.parse(invocation.words[1:], valued=_KUSTOMIZE, short={"o": "output", "e": "env"})
    paths = [each for each in words.positional if each.text not in ("build", "kustomize")]
    return manifests.from_path(context.lookup, invocation.directory, paths[0] if paths else Text("."), kustomize=True)


def _file(invocation: Invocation, context: Context) -> Manifests | None:
    """A file of the repo, or a URL, that a command reads and passes on, perhaps decrypted or with values put in."""
    words = flags.parse(invocation.words[1:], valued=_OP, short={})
    for path in (*words.all("i", "in-file"), *words.positional):
        is_url = path.text.startswith(("http://", "https://"))
        if not is_url and not context.lookup.find(invocation.directory, path).path:
            continue
        found = manifests.from_path(context.lookup, invocation.directory, path, kustomize=False)
        if isinstance(found.source, Directory) and context.lookup.tree.is_dir(found.source.path):
            continue
        if isinstance(found.source, Directory) and invocation.program in _DECRYPTS:
            found = dataclasses.replace(found, source=dataclasses.replace(found.source, decryption="sops"))
        if invocation.program not in _PLAIN_FEEDERS:
            doubt = f"it is what {masking.line([invocation.words[:2]])} makes of the file"
            found = dataclasses.replace(found, doubt=found.doubt or doubt)
        return found
    return None
