"""CRDs that a comment or a README tells people to apply by hand, and that nothing in the repo applies."""

import re
from collections.abc import Iterable, Iterator, Sequence

from firstlight.model import versions
from firstlight.model.component import Component, Origin, Phase
from firstlight.model.diagnostic import Diagnostic, Evidence
from firstlight.model.place import Place
from firstlight.model.source import RemoteSource, SeveralSources
from firstlight.repo import well_known_components
from firstlight.repo.work_tree import WorkTree

_PROSE = (".md", ".markdown", ".rst", ".txt", ".adoc")
_CONTINUED = re.compile(r"\\\n[ \t]*#?[ \t]*")
_COMMAND = re.compile(
    r"kubectl[ \t][^\n]{0,200}?\b(?:apply|create|replace)\b[^\n]{0,300}?[ \t=\"'](?P<url>(?:https?://|github\.com/)[^\s\"'`)>]+)"
)
_FILE = (".yaml", ".yml", ".json")
_READ = (
    *_PROSE,
    ".yaml",
    ".yml",
    ".gotmpl",
    ".j2",
    ".tpl",
    ".sh",
    ".bash",
    ".just",
    ".mk",
    ".toml",
    ".tf",
    "justfile",
    "Makefile",
)


def diagnostics(tree: WorkTree, components: Sequence[Component]) -> Iterator[Diagnostic]:
    """Yield a warning for each set of CRDs that is only spoken of; its evidence has every place."""
    found: dict[tuple[str, ...], list[tuple[str, Place]]] = {}
    for path in tree.files:
        content = tree.bytes(path) if path.endswith(_READ) else None
        if content and b"kubectl" in content and b"://" in content:
            for url, line in _commands(path, tree.text(path) or ""):
                found.setdefault(_project(url), []).append((url, Place(path, line)))
    applied = {_project(url) for each in components for origin in each.origins for url in _urls(origin)}
    for project, told in found.items():
        if project not in applied and not _is_deployed(project, components):
            yield _diagnostic(project, told)


def _commands(path: str, text: str) -> Iterator[tuple[str, int]]:
    """Yield the URLs of CRDs that commands in prose and comments name, with their lines."""
    is_prose = path.lower().endswith(_PROSE)
    joined = _CONTINUED.sub(lambda match: " " * len(match[0]), text)
    for match in _COMMAND.finditer(joined):
        begun = joined.rfind("\n", 0, match.start()) + 1
        is_comment = joined[begun : match.start()].lstrip(" \t-").startswith(("#", "//"))
        url = match["url"].rstrip(".,;")
        if (is_prose or is_comment) and well_known_components.phase_of([url]) is Phase.CRDS:
            yield url, text.count("\n", 0, match.start()) + 1


def _urls(origin: Origin) -> Iterator[str]:
    sources = origin.source.each if isinstance(origin.source, SeveralSources) else (origin.source,)
    for each in sources:
        if isinstance(each, RemoteSource):
            yield f"{each.url}/{each.path}" if each.path else each.url


def _project(url: str) -> tuple[str, ...]:
    """Host, owner and repository: versions of one thing are the same thing."""
    parts = [each for each in url.partition("?")[0].partition("://")[2].split("/") if each]
    if not parts:
        parts = [each for each in url.split("/") if each]
    host = "github.com" if parts[0] == "raw.githubusercontent.com" else parts[0]
    return (host, *(each.removesuffix(".git") for each in parts[1:3]))


def _is_deployed(project: tuple[str, ...], components: Iterable[Component]) -> bool:
    """Whether a component is what the project is, by the names that are known."""
    about = well_known_components.recognised(project[-1:])
    return about is not None and any(well_known_components.recognised([each.name]) == about for each in components)


def _diagnostic(project: tuple[str, ...], told: Sequence[tuple[str, Place]]) -> Diagnostic:
    url, place = told[0]
    name = f"{project[-1]}-crds"
    fix = f"Declare what applies {url}, or keep its manifests in the repo."
    if url.startswith("https://") and url.endswith(_FILE):
        fix = (
            f"Declare them in firstlight.yaml: components: {{{name}: {{phase: crds, from: {url}, digest: sha256:…}}}}; "
            f"the digest is what curl -fsSL {url} | sha256sum prints."
        )
    version = next((part for part in url.split("/") if versions.is_url_part(part)), "")
    what = " ".join(each for each in (project[-1], version) if each)
    return Diagnostic.warning(
        "crds-only-in-words",
        f"the CRDs of {what} are applied by hand: only a comment or a README says so, and nothing in the repo does it",
        at=place,
        evidence=tuple(Evidence(each, at) for each, at in told),
        fix=fix,
    )
