"""``helm``: releases, repositories, and what it renders for others to apply."""

from collections.abc import Iterator, Sequence

from firstlight.model.component import Form, Origin
from firstlight.model.place import Place
from firstlight.model.source import Chart, Source, Unresolved, Values
from firstlight.repo.scripts import flags, masking
from firstlight.repo.scripts.commands import phase
from firstlight.repo.scripts.commands.context import Context, Reading, origin
from firstlight.repo.scripts.flags import Flags
from firstlight.repo.scripts.invocation import Invocation
from firstlight.repo.scripts.shell.expansion import Text
from firstlight.repo.scripts.step import Role

_VALUED = flags.names(
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


def read(invocation: Invocation, context: Context) -> Reading | None:
    """What a helm command means; ``helm template`` is read where its output is applied."""
    words = _flags(invocation)
    verb = words.positional[0].text if words.positional else ""
    if verb == "repo" and len(words.positional) > 3 and words.positional[1].text == "add":
        name, url = words.positional[2], words.positional[3]
        if name.is_known and url.is_known:
            context.repositories.setdefault(name.text, (url.text.rstrip("/"), invocation.place))
        return Reading("helm repo add", Role.SUPPORT)
    if verb in ("upgrade", "install"):
        if words.has("dry-run") and words.one("dry-run").text != "none":
            return Reading(f"helm {verb}", Role.GATE)
        return Reading(f"helm {verb}", Role.DEPLOY, release([invocation], context))
    if verb in ("uninstall", "delete", "rollback"):
        return Reading(f"helm {verb}", Role.CHANGE)
    if verb in _GATES:
        return Reading(f"helm {verb}", Role.GATE)
    return Reading(f"helm {verb}", Role.SUPPORT) if verb in _SUPPORT else None


def release(pipeline: Sequence[Invocation], context: Context) -> Origin:
    """The release of ``helm upgrade``, ``install`` or ``template``, which is first in the pipeline."""
    invocation = pipeline[0]
    words = _flags(invocation)
    positional = words.positional[1:]
    name, chart = (positional[0], positional[1]) if len(positional) > 1 else (Text(""), Text(""))
    if len(positional) == 1:
        chart = positional[0]
    namespace = words.one("namespace")
    version = words.one("version")
    made = _chart(invocation, words, chart, context)
    source: Source = made
    doubts: list[str] = []
    if isinstance(made, Chart):
        source = Chart(
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
    return origin(
        pipeline,
        form=Form.HELM_COMMAND,
        name=name.text or chart.text.rpartition("/")[2],
        namespace=namespace.text if namespace.is_known else "",
        source=source,
        version=version.text if version.is_known else "",
        cluster=context.cluster(hint.text),
        phase=phase.of([name.text, chart.text], names=[name.text, chart.text.rpartition("/")[2]]),
        doubts=doubts,
        definition={
            key: True for key in ("wait", "create-namespace", "atomic", "skip-crds", "take-ownership") if words.has(key)
        },
    )


def _flags(invocation: Invocation) -> Flags:
    return flags.parse(invocation.words[1:], valued=_VALUED, short=_SHORT)


def _chart(invocation: Invocation, words: Flags, chart: Text, context: Context) -> Chart | Unresolved:
    if not chart.is_known:
        found = context.lookup.find(invocation.directory, chart)
        if found.path:
            return Chart(name=found.path)
        return Unresolved(text=chart.shown, reason=f"{', '.join(chart.unknowns)} is only known when it runs")
    return chart_of(chart.text, words.one("repo").text, invocation.directory, context, place=invocation.place)


def chart_of(
    chart: str, repository: str, directory: str | None, context: Context, *, place: Place
) -> Chart | Unresolved:
    """A chart as helm finds it: in a repository, in a registry, behind a URL, or in a directory."""
    if not chart:
        return Unresolved(text="", reason="the command names no chart")
    if repository:
        return Chart(name=chart, repository=repository.rstrip("/"), origin=place)
    if chart.startswith("oci://"):
        head, _, name = chart.rpartition("/")
        return Chart(name=name, repository=head)
    if chart.startswith(("http://", "https://")):
        head, _, name = chart.rpartition("/")
        return Chart(name=name, repository=head)
    found = context.lookup.find(directory, Text(chart))
    if found.path:
        return Chart(name=found.path)
    alias, _, name = chart.partition("/")
    if name and not chart.startswith((".", "/")):
        if alias in context.repositories:
            url, where = context.repositories[alias]
            return Chart(name=name, repository=url, origin=where)
        return Unresolved(text=chart, reason=f"the repository {alias} is added nowhere in the repo")
    return Unresolved(text=chart, reason=found.doubt)


def _values(invocation: Invocation, words: Flags, context: Context) -> Iterator[Values]:
    """Files first, since settings win over them, whatever their order."""
    place = invocation.place
    for given in words.all("values"):
        for part in given.text.split(","):
            path = Text(part, given.unknowns)
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
        found = context.lookup.find(invocation.directory, Text(written, given.unknowns))
        yield Values(place=place, file=found.path, target=name, unresolved="" if found.path else found.doubt)


def settings(given: Text, place: Place, *, is_text: bool = False, is_whole: bool = False) -> Iterator[Values]:
    """``a.b=c,d=e`` as ``helm --set`` takes it; values of secrets are left out."""
    pairs = [given.text] if is_whole else masking.pairs(given.text)
    for name, equals, value in (pair.partition("=") for pair in pairs):
        if not equals:
            continue
        if masking.is_secret_name(name):
            yield Values(place=place, target=name, is_text=is_text, unresolved="a secret in a command line")
        elif given.unknowns and any(sign in value for sign in ("$", "{{", "`")):
            reason = f"{', '.join(given.unknowns)} is only known when it runs"
            yield Values(place=place, target=name, is_text=is_text, unresolved=reason)
        else:
            yield Values(place=place, target=name, text=value, is_text=is_text)
