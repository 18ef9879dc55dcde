"""``helm``: releases, repositories, and what it renders for others to apply."""

from collections.abc import Iterator, Sequence

from firstlight.model import secret_words
from firstlight.model.component import Origin, SourceForm
from firstlight.model.place import Place
from firstlight.model.source import ChartSource, Source, Unresolved, Values
from firstlight.repo import well_known_components
from firstlight.repo.scripts import command_context, masked_lines
from firstlight.repo.scripts.command_context import (
    CommandContext,
    CommandReading,
    Flags,
    HelmfileCall,
    Invocation,
    StepRole,
    command_origin,
)
from firstlight.repo.scripts.shell.shell_expansion import ExpandedText

_VALUED = command_context.flag_names(
    """
    version namespace repo values set set-string set-json set-file set-literal timeout kube-context kubeconfig
    post-renderer post-renderer-args username password ca-file cert-file key-file keyring description
    history-max registry-config repository-cache repository-config kube-apiserver kube-token kube-as-user
    kube-as-group kube-ca-file kube-tls-server-name burst-limit qps output labels name-template api-versions
    kube-version show-only output-dir
    """
)
_SHORT = {"n": "namespace", "f": "values", "o": "output", "i": "install", "l": "labels", "a": "api-versions",
          "s": "show-only", "g": "generate-name"}  # fmt: skip
_GATES = {"list", "ls", "status", "get", "history", "version", "env", "show", "search", "diff", "test", "lint"}
_SUPPORT = {"repo", "registry", "dependency", "dep", "pull", "fetch", "plugin", "package", "push", "template"}


def read_helm(invocation: Invocation, context: CommandContext) -> CommandReading | None:
    """What a helm command means; ``helm template`` is read where its output is applied."""
    words = _flags(invocation)
    verb = words.positional[0].text if words.positional else ""
    if verb == "repo" and len(words.positional) > 3 and words.positional[1].text == "add":
        name, url = words.positional[2], words.positional[3]
        if name.is_known and url.is_known:
            context.repositories.setdefault(name.text, (url.text.rstrip("/"), invocation.place))
        return CommandReading("helm repo add", StepRole.SUPPORT)
    if verb in ("upgrade", "install"):
        if words.has("dry-run") and words.one("dry-run").text != "none":
            return CommandReading(f"helm {verb}", StepRole.GATE)
        return CommandReading(f"helm {verb}", StepRole.DEPLOY, helm_release([invocation], context))
    if verb in ("uninstall", "delete", "rollback"):
        return CommandReading(f"helm {verb}", StepRole.CHANGE)
    if verb in _GATES:
        return CommandReading(f"helm {verb}", StepRole.GATE)
    return CommandReading(f"helm {verb}", StepRole.SUPPORT) if verb in _SUPPORT else None


def helm_release(pipeline: Sequence[Invocation], context: CommandContext) -> Origin:
    """The release of ``helm upgrade``, ``install`` or ``template``, which is first in the pipeline."""
    invocation = pipeline[0]
    words = _flags(invocation)
    positional = words.positional[1:]
    name, chart = (positional[0], positional[1]) if len(positional) > 1 else (ExpandedText(""), ExpandedText(""))
    if len(positional) == 1:
        chart = positional[0]
    namespace = words.one("namespace")
    version = words.one("version")
    made = _chart(invocation, words, chart, context)
    source: Source = made
    doubts: list[str] = []
    if isinstance(made, ChartSource):
        source = ChartSource(
            name=made.name,
            repository=made.repository,
            origin=made.origin,
            version=version.text if version.is_known else "",
            release=name.text,
            namespace=namespace.text if namespace.is_known else "",
            values=tuple(_values(invocation, words, context)),
        )
        doubts += [each.unresolved for each in source.values if each.unresolved and not each.target]
    else:
        doubts.append(made.reason)
    if not name.text:
        doubts.append("helm makes up a name for the release")
    if words.has("reuse-values"):
        doubts.append("it keeps the values of the release that is there")
    hint = words.one("kube-context")
    return command_origin(
        pipeline,
        form=SourceForm.HELM_COMMAND,
        name=name.text if name.text and name.is_known else _chart_name(made, chart) or name.text,
        namespace=namespace.text if namespace.is_known else "",
        source=source,
        version=version.text if version.is_known else "",
        cluster=context.cluster(hint.text),
        phase=well_known_components.phase_of([name.text, chart.text], names=[name.text, chart.text.rpartition("/")[2]]),
        doubts=doubts,
        definition={
            key: True for key in ("wait", "create-namespace", "atomic", "skip-crds", "take-ownership") if words.has(key)
        },
    )


def _chart_name(source: ChartSource | Unresolved, chart: ExpandedText) -> str:
    """What a release of an unknown name is called: its chart."""
    known = source.name if isinstance(source, ChartSource) else chart.text if chart.is_known else ""
    return known.rstrip("/").rpartition("/")[2]


def _flags(invocation: Invocation) -> Flags:
    return command_context.parse_flags(invocation.words[1:], valued=_VALUED, short=_SHORT)


def _chart(
    invocation: Invocation, words: Flags, chart: ExpandedText, context: CommandContext
) -> ChartSource | Unresolved:
    if not chart.is_known:
        found = context.lookup.find(invocation.directory, chart)
        if found.path:
            return ChartSource(name=found.path)
        return Unresolved(text=chart.shown, reason=f"{', '.join(chart.unknowns)} is only known when it runs")
    return chart_of(chart.text, words.one("repo").text, invocation.directory, context, place=invocation.place)


def chart_of(
    chart: str, repository: str, directory: str | None, context: CommandContext, *, place: Place
) -> ChartSource | Unresolved:
    """A chart as helm finds it: in a repository, in a registry, behind a URL, or in a directory."""
    if not chart:
        return Unresolved(text="", reason="the command names no chart")
    if repository:
        return ChartSource(name=chart, repository=repository.rstrip("/"), origin=place)
    if chart.startswith("oci://"):
        head, _, name = chart.rpartition("/")
        return ChartSource(name=name, repository=head)
    if chart.startswith(("http://", "https://")):
        head, _, name = chart.rpartition("/")
        return ChartSource(name=name, repository=head)
    found = context.lookup.find(directory, ExpandedText(chart))
    if found.path:
        return ChartSource(name=found.path)
    alias, _, name = chart.partition("/")
    if name and not chart.startswith((".", "/")):
        if alias in context.repositories:
            url, where = context.repositories[alias]
            return ChartSource(name=name, repository=url, origin=where)
        return Unresolved(text=chart, reason=f"the repository {alias} is added nowhere in the repo")
    return Unresolved(text=chart, reason=found.doubt)


def _values(invocation: Invocation, words: Flags, context: CommandContext) -> Iterator[Values]:
    """Files first, since settings win over them, whatever their order."""
    place = invocation.place
    for given in words.all("values"):
        for part in given.text.split(","):
            path = ExpandedText(part, given.unknowns)
            if part == "-" or part.startswith("<("):
                yield Values(place=place, unresolved="values come from another command")
            elif part.startswith(("http://", "https://")):
                yield Values(place=place, reference=part)
            else:
                found = context.lookup.find(invocation.directory, path)
                why = "" if found.path else f"values of {path.shown}: {found.doubt}"
                yield Values(place=place, file=found.path, unresolved=why)
    for flag in ("set-json", "set", "set-string", "set-literal"):
        for given in words.all(flag):
            yield from settings(
                given,
                place,
                is_text=flag in ("set-string", "set-literal"),
                is_whole=flag in ("set-json", "set-literal"),
            )
    for given in words.all("set-file"):
        name, _, written = given.text.partition("=")
        found = context.lookup.find(invocation.directory, ExpandedText(written, given.unknowns))
        yield Values(place=place, file=found.path, target=name, unresolved="" if found.path else found.doubt)


def settings(given: ExpandedText, place: Place, *, is_text: bool = False, is_whole: bool = False) -> Iterator[Values]:
    """``a.b=c,d=e`` as ``helm --set`` takes it; values of secrets are left out."""
    pairs = [given.text] if is_whole else masked_lines.masked_pairs(given.text)
    for name, equals, value in (pair.partition("=") for pair in pairs):
        if not equals:
            continue
        if secret_words.is_secret_setting(name):
            yield Values(place=place, target=name, is_text=is_text, unresolved="a secret in a command line")
        elif given.unknowns and any(sign in value for sign in ("$", "{{", "`")):
            reason = f"{', '.join(given.unknowns)} is only known when it runs"
            yield Values(place=place, target=name, is_text=is_text, unresolved=reason)
        else:
            yield Values(place=place, target=name, text=value, is_text=is_text)


# ``helmfile``: which files for which environment; what is in them is another reader's.


_HELMFILE_VALUED = command_context.flag_names(
    """
    file environment selector namespace kube-context kubeconfig state-values-file state-values-set
    state-values-set-string log-level helm-binary kustomize-binary args set values output concurrency chart
    context diff-args output-dir output-dir-template output-file-template kube-version color post-renderer
    """
)
_HELMFILE_SHORT = {"f": "file", "e": "environment", "l": "selector", "n": "namespace", "b": "helm-binary", "q": "quiet",
          "o": "output", "c": "chart", "k": "kustomize-binary", "i": "interactive"}  # fmt: skip
_DEPLOYS = {"apply", "sync", "charts"}
_CHANGES = {"destroy", "delete"}
_DEFAULTS = ("helmfile.yaml", "helmfile.yaml.gotmpl", "helmfile.d")


def read_helmfile(invocation: Invocation, context: CommandContext) -> CommandReading:
    """What a helmfile command means."""
    found = helmfile_call(invocation, context, pipeline=[invocation])
    kind = f"helmfile {found.verb}".strip()
    if found.verb in _DEPLOYS:
        return CommandReading(kind, StepRole.DEPLOY, helmfile=found)
    return CommandReading(
        kind,
        StepRole.CHANGE if found.verb in _CHANGES else StepRole.SUPPORT if found.verb == "template" else StepRole.GATE,
    )


def helmfile_call(invocation: Invocation, context: CommandContext, *, pipeline: Sequence[Invocation]) -> HelmfileCall:
    """The call, with its files found in the repo."""
    words = command_context.parse_flags(invocation.words[1:], valued=_HELMFILE_VALUED, short=_HELMFILE_SHORT)
    verb = words.positional[0].text if words.positional else ""
    environment = words.one("environment")
    files: list[str] = []
    doubts: list[str] = []
    given = words.all("file")
    for each in given or (ExpandedText(name) for name in _DEFAULTS):
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
