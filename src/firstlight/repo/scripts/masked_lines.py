"""Command lines for people: on one line, and without the secrets that stand in them."""

import dataclasses
import re
from collections.abc import Sequence

from firstlight.model import secret_words
from firstlight.model.component import Origin
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.source import ChartSource, RemoteSource, SeveralSources, Source, Unresolved
from firstlight.repo.scripts.shell.shell_expansion import REPO, ExpandedText

MASK = "***"
MAX_LENGTH = 2_000
"""Characters; a command with a hundred values is cut."""
MAX_TEXT = 10_000
"""Characters of one word; nobody reads more, and searching costs time."""
_SECRET_FLAG = re.compile(
    r"--?(?:(?:docker-|http-|ftp-|proxy-)?password|pass|token|auth-token|bearer-token|kube-token|api-key|secret-key"
    r"|from-literal|passphrase|oauth2-bearer)"
)
_REFERENCE = re.compile(r"\$\w+|\$\{\w+\}|(?:op://|ref\+|vault:)[^\s]*(?: [^\s=]+)*|\{\{-?\s*[.$\w]+\s*-?\}\}")
"""What only says where a secret is, such as ``$TOKEN`` or ``op://…``, is none."""
_SETTINGS = {"--set", "--set-string", "--helm-set", "--helm-set-string"}
_WHOLE = {"--set-json", "--set-literal"}
"""Settings in which a comma separates nothing."""
_USER_FLAG = re.compile(r"-[A-Za-z]{0,8}u|--user|--proxy-user")
_USER_ATTACHED = re.compile(r"(-[A-Za-z]{0,8}?u)([^=\s]*:.*)")
_HEADER_FLAG = re.compile(r"-[A-Za-z]{0,8}H|--header|--proxy-header")
_PLAIN_HEADERS = {"accept", "content-type", "user-agent", "host", "accept-encoding", "accept-language", "cache-control"}
_URL_USER = re.compile(r"(?<=://)([^/\s'\"?#]+)@")
_QUOTED = r"""(?:'[^']*'?|"[^"]*"?|[^\s'"])+"""
_INSIDE = (
    re.compile(rf"((?<!\S)--(?:helm-)?set(?:-string|-json|-literal)?[= ]\s*)()({_QUOTED})"),
    re.compile(rf"(--(?:[a-z]+-)?(?:password|token|passphrase)[= ]\s*)()({_QUOTED})"),
    re.compile(rf"(--from-literal[= ]\s*['\"]?[^=\s]{{1,200}}=)()({_QUOTED})"),
    re.compile(r"((?:proxy-)?authorization\s*:\s*)((?:(?:bearer|basic|token)\s+)?)([^'\"]+)", re.I),
    re.compile(rf"(<<<\s*)()({_QUOTED})"),
)
"""Secrets inside of a longer text, such as the script of ``bash -c``: what is before them, a scheme, and they."""
_INSIDE_USER = re.compile(rf"((?<!\S)(?:-u|--user|--proxy-user)[= ]\s*)({_QUOTED})")
_SUBSTITUTION = re.compile(r"([<>$]\()\s*([\w./-]*)(.*)\)", re.S)
_SAYS = re.compile(r"(?<![\w-])(?:echo|printf|jq|python3?|perl|awk)(?![\w-])|<<")
"""Commands that have what they print in their own words."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def masked_words(written: Sequence[ExpandedText]) -> list[str]:
    """Words with secrets masked."""
    found: list[str] = []
    flag = ""
    for word in written:
        shown = _CONTROL.sub(" ", word.text.replace(f"{REPO}/", "").replace(REPO, "."))
        name, equals, value = shown.partition("=")
        attached = _USER_ATTACHED.fullmatch(shown)
        if flag:
            found.append(_of_flag(flag, shown))
            flag = ""
        elif _takes_secret(name):
            if equals:
                found.append(f"{name}={_of_flag(name, value)}")
            else:
                found.append(shown)
                flag = name
        elif attached is not None:
            found.append(attached[1] + _user(attached[2]))
        elif equals and not name.startswith("-") and secret_words.is_secret_setting(name):
            found.append(f"{name}={_masked(value)}")
        else:
            found.append(masked_text(shown))
    return found


def masked_text(value: str) -> str:
    """A longer text, such as a script or a message, with the secrets masked that can be told from the rest."""
    shown = masked_url(value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]} …")
    shown = _SUBSTITUTION.sub(_substituted, shown)
    for pattern in _INSIDE:
        shown = pattern.sub(_inside, shown)
    return _INSIDE_USER.sub(_inside_user, shown)


def masked_url(value: str) -> str:
    """A text whose URLs have no users and passwords."""
    return _URL_USER.sub(_userinfo, value)


def masked_pairs(settings: str) -> list[str]:
    """The parts of ``a=b,c=d``; a comma in braces or after a backslash separates nothing."""
    found, start, depth, at = [], 0, 0, 0
    while at < len(settings):
        sign = settings[at]
        if sign == "\\":
            at += 1
        elif sign in "{}":
            depth += 1 if sign == "{" else -1
        elif sign == "," and depth <= 0:
            found.append(settings[start:at])
            start = at + 1
        at += 1
    return [*found, settings[start:]]


def masked_line(pipeline: Sequence[Sequence[ExpandedText]]) -> str:
    """A pipeline on one line."""
    shown = " | ".join(
        " ".join(_quoted(each) for each in (_printed(written) if len(pipeline) > 1 else masked_words(written)))
        for written in pipeline
        if written
    )
    return shown if len(shown) <= MAX_LENGTH else shown[:MAX_LENGTH] + " …"


def _printed(written: Sequence[ExpandedText]) -> list[str]:
    """One command of several; what ``echo`` passes on to the next is as secret as a file."""
    if written[0].text not in ("echo", "printf"):
        return masked_words(written)
    return [written[0].text, *(each.text if each.text.startswith("-") else _masked(each.text) for each in written[1:])]


def _takes_secret(flag: str) -> bool:
    patterns = (_SECRET_FLAG, _USER_FLAG, _HEADER_FLAG)
    return flag in _SETTINGS or flag in _WHOLE or any(each.fullmatch(flag) for each in patterns)


def _of_flag(flag: str, value: str) -> str:
    if flag in _SETTINGS or flag in _WHOLE:
        return ",".join(_setting(each) for each in (masked_pairs(value) if flag in _SETTINGS else [value]))
    if flag.endswith("from-literal"):
        return _setting(value)
    if _SECRET_FLAG.fullmatch(flag):
        return _masked(value)
    return _user(value) if _USER_FLAG.fullmatch(flag) else _header(value)


def _setting(pair: str) -> str:
    """``name=value``; names alone do not tell which values are secrets."""
    name, equals, value = pair.partition("=")
    return f"{name}={_masked(value)}" if equals else _masked(pair)


def _user(value: str) -> str:
    """``name:password``; a name alone is none, nor are the numbers of a user and a group."""
    return masked_text(value) if ":" not in value or value.replace(":", "").isdigit() else _references(value)


def _header(value: str) -> str:
    name, colon, rest = value.partition(":")
    if not colon or name.strip().lower() in _PLAIN_HEADERS:
        return masked_text(value)
    scheme, space, credentials = rest.strip().partition(" ")
    kept = f"{scheme} {_masked(credentials)}" if space and _REFERENCE.fullmatch(credentials) else _masked(rest.strip())
    return f"{name}: {kept}"


def _references(value: str) -> str:
    return value if all(_REFERENCE.fullmatch(each) for each in value.split(":")) else MASK


def _userinfo(match: re.Match[str]) -> str:
    """Before the host of a URL; the user alone of SSH is no secret."""
    is_ssh = match.string.endswith("ssh://", 0, match.start()) and ":" not in match[1]
    return match.group() if is_ssh else f"{_references(match[1])}@"


def _inside(match: re.Match[str]) -> str:
    value = match[3].strip("'\"")
    name, equals, rest = value.partition("=")
    is_reference = _REFERENCE.fullmatch(value) or (equals and "," not in name and _REFERENCE.fullmatch(rest))
    return match.group() if is_reference else f"{match[1]}{MASK}"


def _inside_user(match: re.Match[str]) -> str:
    value = match[2].strip("'\"")
    is_secret = ":" in value and not value.replace(":", "").isdigit() and _references(value) == MASK
    return f"{match[1]}{MASK}" if is_secret else match.group()


def _substituted(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2]} {MASK})" if _SAYS.search(match[2] + match[3]) else match.group()


def _masked(value: str) -> str:
    return value if _REFERENCE.fullmatch(value) else MASK


def _quoted(word: str) -> str:
    if word in ("<<EOF", "<") or word.startswith("<("):
        return word
    if not word or (re.search(r"[\s'\"|;&<>()]", word) and not word.startswith(("{{", "$"))):
        return "'" + word.replace("'", "'\\''") + "'"
    return word


# Texts of a repo for people: on one line, and not longer than somebody reads.


MAX_LINE = 500
_UNPRINTABLE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029\ue0f0\ue0f1]+")


def one_line(text: str) -> str:
    """A text on one line."""
    text = masked_url(text)
    short = text if len(text) <= MAX_LINE else f"{text[:MAX_LINE]} …"
    return _UNPRINTABLE.sub(" ", short).strip()


def plain_diagnostic(value: Diagnostic) -> Diagnostic:
    """A diagnostic that can be printed."""
    return dataclasses.replace(value, message=one_line(masked_text(value.message)), fix=one_line(value.fix))


def plain_origin(value: Origin) -> Origin:
    """An origin whose names and doubts can be printed."""
    return dataclasses.replace(
        value,
        name=one_line(value.name),
        namespace=one_line(value.namespace),
        doubt=one_line(value.doubt),
        version=one_line(value.version),
        source=plain_source(value.source),
    )


def plain_source(value: Source | SeveralSources) -> Source | SeveralSources:
    """A source whose URLs have no passwords."""
    if isinstance(value, SeveralSources):
        return SeveralSources(each=tuple(_source(each) for each in value.each))
    return _source(value)


def _source(value: Source) -> Source:
    match value:
        case ChartSource():
            return dataclasses.replace(value, name=masked_url(value.name), repository=masked_url(value.repository))
        case RemoteSource():
            return dataclasses.replace(value, url=masked_url(value.url))
        case Unresolved():
            return dataclasses.replace(value, text=masked_url(value.text), reason=masked_url(value.reason))
        case _:
            return value
