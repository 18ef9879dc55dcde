"""Commands that act on machines or fetch secrets: facts for later, no components."""

from collections.abc import Sequence

from firstlight.model import argocd_names
from firstlight.model.component import ObjectId, Phase, SourceForm
from firstlight.model.source import ChartSource, DirectorySource, RemoteSource, Source, Unresolved
from firstlight.repo.scripts import command_context, masked_lines
from firstlight.repo.scripts.command_context import CommandContext, CommandReading, Invocation, StepRole, command_origin
from firstlight.repo.scripts.commands import flux_commands, helm_commands, kubectl_commands
from firstlight.repo.scripts.commands.helm_commands import settings

_VALUED = command_context.flag_names(
    """
    -n --nodes -e --endpoints --talosconfig --context --account --vault -c --cluster --omniconfig --cluster-name
    --kubeconfig -f --file
    """
)
_LOOKS = {
    "talosctl": {"health", "get", "version", "logs", "dmesg", "read", "list", "ls", "services", "service", "dashboard",
                 "containers", "members", "etcd", "disks", "config", "validate", "stats", "time", "usage", "inspect"},
    "omnictl": {"get", "config", "download", "support"},
    "talhelper": {"validate"},
}  # fmt: skip
_PAIRS = command_context.flag_names(
    """
    cluster gen patch machineconfig etcd item connect document account vault config secret
    """
)
"""Subcommands that mean nothing without the next one."""
_SECRETS = {"op", "sops", "age", "vault", "bao", "bws", "doppler"}
MACHINE_PROGRAMS = {"talosctl", "talhelper", "omnictl", "topf"} | _SECRETS


def read_machine_command(invocation: Invocation) -> CommandReading:
    """What such a command is for."""
    program = invocation.program
    words = _plain([word.text for word in invocation.words[1:]])
    verb = words[0] if words else ""
    if program == "sops":
        decrypts = any(
            word.text in ("-d", "--decrypt", "decrypt", "exec-env", "exec-file") for word in invocation.words
        )
        return CommandReading("sops decrypt" if decrypts else "sops", StepRole.SECRET)
    length = 3 if words[:2] == ["cluster", "template"] else 2 if verb in _PAIRS else 1
    name = " ".join(words[:length])
    if program in _SECRETS:
        return CommandReading(f"{program} {name}".strip(), StepRole.SECRET)
    is_look = verb in _LOOKS.get(program, set()) or name.endswith((" validate", " status", " info", " diff"))
    return CommandReading(f"{program} {name}".strip(), StepRole.GATE if is_look else StepRole.MACHINE)


def _plain(words: Sequence[str]) -> list[str]:
    """Words that are no flags, nor their values."""
    found: list[str] = []
    is_value = False
    for word in words:
        if is_value:
            is_value = False
        elif word.startswith("-"):
            is_value = word in _VALUED
        else:
            found.append(word)
    return found


# ``argocd app create`` and ``cilium install``.


_ARGOCD = command_context.flag_names(
    """
    repo path dest-server dest-name dest-namespace project revision helm-chart helm-set values file sync-policy
    sync-option release-name app-namespace server auth-token grpc-web-root-path port-forward-namespace
    """
)
_CILIUM = command_context.flag_names(
    """
    version set values namespace context chart-directory repository set-string set-file helm-release-name
    """
)


def read_argocd(invocation: Invocation, context: CommandContext) -> CommandReading:
    """An application that is made by a command; everything else of argocd looks or changes."""
    words = command_context.parse_flags(invocation.words[1:], valued=_ARGOCD, short={"f": "file", "N": "app-namespace"})
    verbs = [each.text for each in words.positional[:2]]
    if verbs != ["app", "create"]:
        kind = " ".join(["argocd", *verbs])
        looks = {"list", "get", "wait", "diff", "history", "version", "manifests", "logs"}
        return CommandReading(kind, StepRole.GATE if looks & set(verbs) else StepRole.CHANGE)
    name = words.positional[2].text if len(words.positional) > 2 else ""
    path, url = words.one("path"), words.one("repo")
    source: Source
    found = context.lookup.find(".", path) if path.text else None
    if words.one("helm-chart").text:
        source = ChartSource(
            name=words.one("helm-chart").text, repository=url.text, version=words.one("revision").text, release=name,
            namespace=words.one("dest-namespace").text,
        )  # fmt: skip
    elif found is not None and found.path:
        has_kustomization = any(name.startswith("kustomization.") for name in context.lookup.tree.listing(found.path))
        source = DirectorySource(
            path=found.path,
            kustomize=has_kustomization,
            recurse=False,
            target_namespace=words.one("dest-namespace").text,
        )
    elif url.text and url.is_known:
        source = RemoteSource(url=url.text, revision=words.one("revision").text, path=path.text)
    else:
        source = Unresolved(text=name, reason="the command names neither a repo nor a path that is known")
    namespace = words.one("app-namespace").text or argocd_names.NAMESPACE
    made = command_origin(
        [invocation],
        form=SourceForm.APPLICATION,
        name=name,
        namespace=namespace,
        source=source,
        phase=Phase.ENGINE,
        objects=[ObjectId(argocd_names.GROUP, argocd_names.APPLICATION, namespace, name)],
        definition={
            "repo": masked_lines.masked_url(url.text),
            "path": path.text,
            "revision": words.one("revision").text,
        },
    )
    return CommandReading("argocd app create", StepRole.DEPLOY, made)


def read_cilium(invocation: Invocation, context: CommandContext) -> CommandReading:
    """``cilium install`` is Helm inside: the chart of the same version, in kube-system."""
    words = command_context.parse_flags(invocation.words[1:], valued=_CILIUM, short={"n": "namespace", "f": "values"})
    verb = words.positional[0].text if words.positional else ""
    if verb not in ("install", "upgrade"):
        return CommandReading(
            f"cilium {verb}".strip(),
            StepRole.GATE if verb in ("status", "connectivity", "version") else StepRole.CHANGE,
        )
    version = words.one("version").text.removeprefix("v")
    namespace = words.one("namespace").text or "kube-system"
    values = [
        each
        for flag in ("set", "set-string")
        for given in words.all(flag)
        for each in settings(given, invocation.place, is_text=flag == "set-string")
    ]
    made = command_origin(
        [invocation],
        form=SourceForm.HELM_COMMAND,
        name=words.one("helm-release-name").text or "cilium",
        namespace=namespace,
        version=version,
        cluster=context.cluster(words.one("context").text),
        source=ChartSource(
            name="cilium",
            repository="https://helm.cilium.io",
            version=version,
            release="cilium",
            namespace=namespace,
            values=tuple(values),
        ),
        doubts=[] if version else ["the version is the one that the cilium program has inside"],
    )
    return CommandReading(f"cilium {verb}", StepRole.DEPLOY, made)


# Which of the commands of a pipeline are understood, and what each means.


_MAX_FILES = 1_000
"""That commands write, and are remembered."""


def recognise(pipeline: Sequence[Invocation], context: CommandContext) -> list[tuple[Invocation, CommandReading]]:
    """The understood commands of a pipeline, in their order."""
    found: list[tuple[Invocation, CommandReading]] = []
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


def _one(
    pipeline: Sequence[Invocation], at: int, invocation: Invocation, context: CommandContext
) -> CommandReading | None:
    program = invocation.program
    if program in kubectl_commands.PROGRAMS:
        return kubectl_commands.read_kubectl(pipeline, at, context)
    if program == "helm":
        return helm_commands.read_helm(invocation, context)
    if program == "flux":
        return flux_commands.read(invocation, context)
    if program == "helmfile":
        return helm_commands.read_helmfile(invocation, context)
    if program == "kustomize":
        return CommandReading("kustomize build", StepRole.SUPPORT)
    if program == "argocd":
        return read_argocd(invocation, context)
    if program == "cilium":
        return read_cilium(invocation, context)
    return read_machine_command(invocation) if program in MACHINE_PROGRAMS else None
