"""Addresses of Git repositories: which are the same, and which one is the repo that is being read."""

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place

_SCP = re.compile(r"^(?:[^@/:\s]+@)?([^/:\s]+):(?!//)(.*)$")
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_PORT = re.compile(r":(?:22|80|443)$")


@dataclasses.dataclass(frozen=True, slots=True)
class UrlEvidence:
    """That a source of an Application names a path in a repository, and whether this repo has such a path."""

    url: str
    exists: bool
    at: Callable[[], Place]
    """Where it says so; asked where that is to be shown, since lines take time to find."""


@dataclasses.dataclass(frozen=True, slots=True)
class OwnRepository:
    """The addresses of the repo that is being read."""

    urls: frozenset[str]
    """Normalised."""
    written: str = ""
    """As the repo or the caller writes it."""
    how: str = ""
    """Why it is taken for this repo."""
    place: Place | None = None
    revision: str = ""
    """The branch or tag that most of its Applications follow."""
    diagnostics: tuple[Diagnostic, ...] = ()

    def has(self, url: str) -> bool:
        """Whether an address is this repo's."""
        return normalised(url) in self.urls


def normalised(url: str) -> str:
    """An address such that equal ones are the same repository: no scheme, user, usual port, suffix; lower case."""
    url = url.strip()
    if _SCHEME.match(url):
        host, _, path = _SCHEME.sub("", url).partition("/")
    elif scp := _SCP.match(url):
        host, path = scp[1], scp[2]
    else:
        host, _, path = url.partition("/")
    host = _PORT.sub("", host.rpartition("@")[2])
    return f"{host}/{path.strip('/')}".removesuffix(".git").lower()


def without_password(url: str) -> str:
    """An address that can be shown: no user and no password before its host."""
    scheme = _SCHEME.match(url)
    if not scheme:
        return url
    host, slash, path = url[scheme.end() :].partition("/")
    return f"{scheme[0]}{host.rpartition('@')[2]}{slash}{path}" if ":" in host.rpartition("@")[0] else url


def own(evidence: Sequence[UrlEvidence], *, given: Collection[str] = (), directory: str = "") -> OwnRepository:
    """Which repository this is.

    Args:
        evidence: What the sources of all Applications say.
        given: What the caller knows already; believed unless no Application uses it and another one fits entirely.
        directory: The name of the work tree, which decides between two that fit equally well.
    """
    inferred = _inferred(evidence, directory)
    known = frozenset(normalised(each) for each in given if each)
    if not known:
        return inferred
    first = next(each for each in given if each)
    if inferred.urls and not any(normalised(each.url) in known for each in evidence):
        place = inferred.place or Place(".")
        message = f"no Application reads {without_password(first)}; {inferred.how}"
        diagnostic = Diagnostic.warning(
            "argocd-repo-url-unused", message, at=place, fix="Give the address that the Applications use."
        )
        return dataclasses.replace(
            inferred, urls=inferred.urls | known, diagnostics=(*inferred.diagnostics, diagnostic)
        )
    used = next((each.at() for each in evidence if normalised(each.url) in known), None)
    return OwnRepository(known, first, "it was given as this repo's address", used)


def _inferred(evidence: Sequence[UrlEvidence], directory: str) -> OwnRepository:
    here = Counter(normalised(each.url) for each in evidence if each.exists)
    everywhere = Counter(normalised(each.url) for each in evidence)
    likely = [url for url, number in here.items() if 2 * number >= everywhere[url]]
    if not likely:
        return OwnRepository(frozenset())

    def weight(url: str) -> tuple[int, bool, str]:
        return here[url], url.rpartition("/")[2] == directory.lower(), url

    best = max(likely, key=weight)
    forms = Counter(each.url for each in evidence if normalised(each.url) == best)
    first = next(each for each in evidence if each.url == forms.most_common(1)[0][0])
    shown = without_password(first.url)
    how = f"{shown} is taken for this repo: {here[best]} of {everywhere[best]} of its paths are here"
    diagnostics: list[Diagnostic] = []
    rivals = [url for url in likely if url != best]
    place = first.at()
    if here[best] < everywhere[best] or rivals:
        message = how + (f", and {here[max(rivals, key=weight)]} of {max(rivals, key=weight)}" if rivals else "")
        diagnostics.append(
            Diagnostic.warning(
                "argocd-repo-url-guessed", message, at=place, fix="Give the repo's address in firstlight.yaml."
            )
        )
    return OwnRepository(frozenset([best]), shown, how, place, diagnostics=tuple(diagnostics))
