"""Trailers of a commit's message, found as ``git interpret-trailers --parse --no-divider`` finds them.

They are in the last paragraph alone, and never in the first, which is the title. A paragraph in which not every line is
a trailer has none, unless Git itself wrote one of them and at least a quarter of the lines are.
"""

import dataclasses
import functools
import re
import unicodedata
from collections.abc import Iterator

_TRAILER = re.compile(r"(?P<key>[A-Za-z0-9-]+)[ \t]*:(?P<value>.*)")
_OF_GIT = ("Signed-off-by: ", "(cherry picked from commit ")
_SPACE = " \t\r\n"
"""What Git takes for space; Python knows more."""
_SCISSORS = "# ------------------------ >8 ------------------------"
_CONFLICTS = "Conflicts:"
_PERSON = re.compile(r"(?P<name>[^<>]*)<(?P<email>[^<>\s]+)>\s*")


@dataclasses.dataclass(frozen=True, slots=True)
class Trailer:
    """One line at the end of a message."""

    key: str
    value: str


@dataclasses.dataclass(frozen=True, slots=True)
class TrailerPerson:
    """A person as a trailer names one."""

    name: str
    email: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>" if self.name else self.email


def trailers_of(body: str) -> tuple[Trailer, ...]:
    """The trailers of a message without its title.

    Args:
        body: What follows the title and the blank lines after it.
    """
    return _of_block(_last_paragraph(body))


def person(value: str) -> TrailerPerson | None:
    """Whom a trailer names; None where it is no ``Name <address>``."""
    found = _PERSON.fullmatch(value.strip())
    return TrailerPerson(" ".join(found["name"].split()), found["email"]) if found else None


def _last_paragraph(body: str) -> list[str]:
    """The lines after the last blank one, comments left out as Git leaves them out."""
    block: list[str] = []
    for line in reversed(_message(body.split("\n"))):
        if line.strip(_SPACE):
            block.append(line)
        elif any(not each.startswith("#") for each in block):
            break
    return block[::-1]


def _message(lines: list[str]) -> list[str]:
    """What Git takes for the message: nothing from scissors on, and no comments and conflicts at its end."""
    if _SCISSORS in lines:
        lines = lines[: lines.index(_SCISSORS)]
    end: int | None = None
    is_conflicts = False
    for number, line in enumerate(lines):
        if not line or line.startswith("#") or line == _CONFLICTS:
            is_conflicts = is_conflicts or line == _CONFLICTS
            end = number if end is None else end
        elif not (is_conflicts and line.startswith("\t")):
            end, is_conflicts = None, False
    return lines[:end]


def _of_block(lines: list[str]) -> tuple[Trailer, ...]:
    return tuple(_trailers(lines)) if _is_block(lines) else ()


def _is_block(lines: list[str]) -> bool:
    trailers = others = inner = 0
    is_of_git = False
    for line in reversed(lines):
        if line.startswith("#"):
            others, inner = others + inner, 0
        elif line.startswith(_OF_GIT):
            is_of_git = True
            trailers, inner = trailers + 1, 0
        elif _TRAILER.fullmatch(line):
            trailers, inner = trailers + 1, 0
        elif line[0] in _SPACE:
            inner += 1  # it goes on with the line above, if that is a trailer
        else:
            others, inner = others + inner + 1, 0
    others += inner
    return (is_of_git and trailers * 3 >= others) or (trailers > 0 and not others)


def _trailers(lines: list[str]) -> Iterator[Trailer]:
    last: Trailer | None = None
    for line in lines:
        if last is not None and line[0] in _SPACE:
            last = Trailer(last.key, f"{last.value} {line.strip(_SPACE)}".strip(_SPACE))
            continue
        if last is not None:
            yield last
        match = _TRAILER.fullmatch(line)
        last = Trailer(match["key"], match["value"].strip(_SPACE)) if match else None
    if last is not None:
        yield last


# Whether two names or addresses may be the same person's, as far as eyes can tell.
#
# This is only for keeping people from approving their own work, so in doubt they are the same. Whoever is to be found
# in a list is found by the plain address, which is the opposite error.


_LIKE_LATIN = (
    # Cyrillic, Greek, Armenian and Cherokee letters, each followed by the Latin one that it looks like.
    "АA ВB ЕE ЅS ІI ЈJ КK МM НH ОO РP СC ТT УY ХX ЬB аa еe ѕs іi јj оo рp сc уy хx ԁd ԛq ԝw һh ӏl вb кk мm нh тt ґr пn "
    "ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX αa γy εe ηn ιi κk νv οo ρp σo τt υu χx ωw ϲc ϳj "
    "օo սu ոn ցg հh յj զq աw ⅼl ɑa ɡg ɩi ɪi ıi ʏy ᴄc ᴏo ᴠv ᴡw ᴢz ꓲI ꓳO ꓢS ꓮA ꓐB ꓑP ꓔT ᎪA ᎬE ᎷM ᏚS ᏢP ᏟC ᎢT ᏂH"
)
_LATIN = str.maketrans({pair[0]: pair[1] for pair in _LIKE_LATIN.split()})
_ALIKE = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "ſ": "s", "ł": "l", "ø": "o", "đ": "d", "ħ": "h"})
_UNSEEN = {"Mn", "Me", "Mc", "Cf", "Cc", "Cs", "Co", "Cn"}
_BLANK = "\u115f\u1160\u3164\uffa0\u2800"
"""Letters and signs that show nothing."""
_TWO = (("rn", "m"), ("vv", "w"))
"""Two letters that look like one."""
_NOREPLY = re.compile(r"(?:\d+\+)?(?P<login>[^@]+)@users\.noreply\.github\.com")
_DOTLESS = ("gmail.com", "googlemail.com")
"""Where a dot in the name of a mailbox means nothing."""


def may_be_same(one: TrailerPerson, other: TrailerPerson) -> bool:
    """Whether two people may be one: by their address, or by their name, since people commit from several addresses."""
    addresses = {mailbox(each.email) for each in (one, other)}
    names = {skeleton(each.name) for each in (one, other)}
    return (len(addresses) == 1 and "" not in addresses) or (len(names) == 1 and "" not in names)


@functools.lru_cache(maxsize=10_000)
def skeleton(text: str) -> str:
    """A text as one sees it in passing: without marks, blanks and case, and with one letter for all that look alike."""
    seen = "".join(
        each
        for each in unicodedata.normalize("NFKD", text)
        if unicodedata.category(each) not in _UNSEEN and each not in _BLANK
    )
    plain = unicodedata.normalize("NFKD", seen.translate(_LATIN).casefold()).translate(_ALIKE)
    for pair, letter in _TWO:
        plain = plain.replace(pair, letter)
    return "".join(each for each in plain if each.isalnum())


def mailbox(email: str) -> str:
    """An address by whose mailbox it is: what follows a plus is the reader's own, and GitHub's begin with a number."""
    address = unicodedata.normalize("NFKC", email).casefold().strip()
    github = _NOREPLY.fullmatch(address)
    local, _, domain = address.rpartition("@")
    local = github["login"] if github is not None else local.partition("+")[0] or local
    if domain in _DOTLESS:
        domain = _DOTLESS[0]
    return f"{skeleton(local)}@{'.'.join(map(skeleton, domain.split('.')))}" if local else skeleton(address)
