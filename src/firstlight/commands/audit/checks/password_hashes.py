"""Password hashes that are committed in clear: anybody who reads the repo can try passwords against them."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator

from firstlight.commands.audit.rule_form import AuditRule
from firstlight.model.diagnostic import Evidence
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.repo.platform_view import LONGEST, PlatformView

_SIGN = r"(?:\\?\$){1,2}"
"""A dollar, as it is or as scripts, Compose files and envsubst escape it."""
_WORD = r"[./A-Za-z0-9]"
_HASHES = (
    ("bcrypt", rf"{_SIGN}2[abxy]{_SIGN}\d\d{_SIGN}{_WORD}{{53}}(?![./A-Za-z0-9])"),
    ("Argon2", rf"{_SIGN}argon2(?:id|i|d){_SIGN}v=\d+{_SIGN}[mtp=,\d]+{_SIGN}[\w+/-]{{8,}}{_SIGN}[\w+/-]{{16,}}"),
    ("SHA-512 crypt", rf"{_SIGN}6{_SIGN}(?:rounds=\d+{_SIGN})?{_WORD}{{1,16}}{_SIGN}{_WORD}{{86}}"),
    ("yescrypt", rf"{_SIGN}y{_SIGN}{_WORD}+{_SIGN}{_WORD}{{1,86}}{_SIGN}{_WORD}{{43}}"),
    ("APR1 (htpasswd)", rf"{_SIGN}apr1{_SIGN}{_WORD}{{1,8}}{_SIGN}{_WORD}{{22}}"),
)  # fmt: skip
_ALL = re.compile("|".join(f"(?P<h{number}>{pattern})" for number, (_, pattern) in enumerate(_HASHES)))
_ASIDE = re.compile(
    r"(?:^|/)[._]*(?:docs?|documentation|examples?|samples?|tests?|testdata|fixtures|archived?|disabled|vendor|node_modules"
    r"|schemas?)/",
    re.IGNORECASE,
)
_SHOWS = re.compile(
    r"(?:^|[-_.])(?:example|sample|template|test|dist|tmpl)(?:[-_.]|$)|\.(?:md|adoc|rst|svg|lock|sum)$", re.I
)
_COMMENT = re.compile(r"\s*(?:#|//|--|;|\*)")
_RANDOM = re.compile(
    r"client[-_]?secret|(?:api|refresh|access)[-_]?(?:token|key)|salt|digest|checksum|etag", re.IGNORECASE
)
"""Names before what is a hash of something random, which nobody can guess."""
_SHOWN = 8


def committed_hashes(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Password hashes in files that Git has; one finding for a file."""
    told = {each.place.path for each in scene.clear_secrets}
    for path in scene.files.files:
        if path in told or _ASIDE.search(path) or _SHOWS.search(posixpath.basename(path)):
            continue
        text = scene.files.text(path)
        if not text or "$" not in text or "\0" in text:
            continue
        found: dict[str, list[Place]] = defaultdict(list)
        for what, place in _hashes(path, text):
            found[what].append(place)
        places = sorted(place for several in found.values() for place in several)
        if places:
            number = f"{len(places)} password hashes" if places[1:] else "a password hash"
            yield rule.finding(
                f"{path} has {number} in clear ({', '.join(sorted(found))})",
                at=places[0],
                evidence=tuple(Evidence(what, place) for what, several in found.items() for place in several)[:_SHOWN],
                key="password hashes",
            )


def _hashes(path: str, text: str) -> Iterator[tuple[str, Place]]:
    above = ""
    for number, line in enumerate(text.splitlines(), 1):
        match = _ALL.search(line) if "$" in line and len(line) <= LONGEST else None
        if match is not None and not _COMMENT.match(line):
            name = line[: match.start()]
            # An item of a list has its name above.
            is_guessable = not _RANDOM.search(name if name.strip(" -\"'") else above)
            kind = next(kind for index, (kind, _) in enumerate(_HASHES) if match[f"h{index}"])
            if is_guessable:
                yield kind, Place(path, number, match.start() + 1)
        above = line
