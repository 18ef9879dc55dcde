"""Whether two names or addresses may be the same person's, as far as eyes can tell.

This is only for keeping people from approving their own work, so in doubt they are the same. Whoever is to be found in
a list is found by the plain address, which is the opposite error.
"""

import functools
import re
import unicodedata

from firstlight.policy.checking.trailers import Named

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


def may_be_same(one: Named, other: Named) -> bool:
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
