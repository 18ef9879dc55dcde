"""Secrets in texts that are read line by line: what can be told from the rest is masked."""

import functools
import re

from firstlight.model import secret_words
from firstlight.repo.scripts import masked_lines

_KNOWN = 20_000


_REFERENCE = re.compile(
    r"\$[A-Z_][A-Z0-9_]*|\$\{\{[^\"'`{}]*\}\}|\$\{\w+\}|\$\((?!\s*(?:echo|printf)\b)[^()]*\)|\{\{[^\"'`{}]*\}\}|<[^<>]*>"
    r"|(?:op://|ref\+|vault:|sops:|env:|file:|secretref\+|awssecret).*|\*+"
)
"""What only says where a secret is, or is masked already."""
PRIVATE_KEYS = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY|AGE-SECRET-KEY-1"
    r"|LS0tLS1CRUdJTi[A-Za-z0-9+/]{0,40}?(?:UFJJVkFURS|BSSVZBVE|QUklWQVRF)"
)
"""The beginning of a private key, as text or as base64."""
KIND_SECRET = re.compile(r"[\"']?\bkind\\?[\"']?\s*:\s*\\?[\"']?Secret\b")
"""A Secret, however it is written."""
_TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:gh[pousr]_\w{8,}|github_pat_\w{8,}|glpat-[\w-]{8,}|glsa_\w{8,}|xox[abeprs]-[\w-]{8,}"
    r"|xapp-[\w-]{8,}|sk-[\w-]{16,}|[sr]k_(?:live|test)_\w{8,}|A(?:KIA|SIA)[0-9A-Z]{12,}|AIza[\w-]{20,}"
    r"|ya29\.[\w-]{8,}|tskey-[\w-]{4,}|eyJ[\w-]{8,}\.[\w-]{4,}[\w.-]*|hv[sbr]\.[\w-]{8,}|dckr_pat_[\w-]{8,}"
    r"|dop_v1_\w{8,}|npm_\w{20,}|SG\.[\w-]{8,}\.[\w-]{8,}|\$2[aby]\$\d\d\$[\w./]{20,}|\$apr1\$\S{8,}|\$[156y]\$\S{8,})"
)
"""Tokens that are known by how they begin, and hashes of passwords."""
_URL = re.compile(
    r"(://hooks\.[^\s\"'/]{0,200}/|://[^\s\"'?#:]{0,300}?/(?:api/)?webhooks?/|[?&](?:\w*token|\w*key|sig|password|secret)=)"
    r"([^\s\"'&]+)",
    re.I,
)
"""Addresses that let in whoever knows them."""
_SHORT_FLAG = re.compile(
    r"(\b(?:mysql\w*|mariadb[\w-]*|sshpass|redis-cli|(?:docker|podman|nerdctl|oras|crane|skopeo|helm)\b[^|;&\n]{0,200}?"
    r"\blogin)\b[^|;&\n]{0,400}?\s-[pa]\s?)([^\s=]\S*)"
)
_ECHO = re.compile(r"(\b(?:echo|printf)\s+(?:-\w+\s+)*)([^|\n]{1,500}?)(\s{0,20}\|(?!\|))")
_NAME = re.compile(r"(?<![\w.\\-])(?P<name>[\"']?-{0,2}[A-Za-z_][\w.-]*\\?[\"']?)(?P<mark>\s*:?=\s*|:\s+|:(?=[\"'\\]))")
_VALUE = re.compile(r"\"[^\"]*\"?|'[^']*'?|[^\s;&|,]+")
_LINE = re.compile(
    r"^(?P<head>[\s{,-]*)(?P<name>[\"']?[A-Za-z_][\w.-]*[\"']?)(?P<mark>:\s+|\s+=\s+)(?P<value>.+)$", re.M
)
_COMMAND = re.compile(r"://|--|<<<|[<>$]\(|-u|(?i:authorization)")
"""Something of what masking finds in commands."""
_TELLING = re.compile(r"[\s=@?]|://|[\"']:")
"""Without one of these a text is one word in which nothing but itself can be secret."""


def is_reference(value: str) -> bool:
    """Whether a text only says where something is."""
    return _REFERENCE.fullmatch(value) is not None


def masked(line: str) -> str:
    """A line without the secrets in it that can be told from the rest."""
    found = _TOKEN.sub(masked_lines.MASK, line)
    if _TELLING.search(found) is None:
        return found if PRIVATE_KEYS.search(found) is None else masked_lines.MASK
    key = PRIVATE_KEYS.search(found)
    found = found if key is None else found[: key.start()] + masked_lines.MASK
    # Most texts are plain sentences: what cannot be in them is not searched.
    if len(found) > masked_lines.MAX_TEXT or _COMMAND.search(found):
        found = masked_lines.masked_text(found)
    if "://" in found or "?" in found:
        found = _URL.sub(_second, found)
    if " -" in found:
        found = _SHORT_FLAG.sub(_second, found)
    if "|" in found:
        found = _ECHO.sub(_piped, found)
    return _settings(_LINE.sub(_rest, found)) if ":" in found or "=" in found else found


@functools.lru_cache(_KNOWN)
def is_secret_text(text: str) -> bool:
    """Whether there is something in a text that must not be seen."""
    if PRIVATE_KEYS.search(text) or KIND_SECRET.search(text):
        return True
    return any(masked(each) != each for each in text.splitlines())


def _second(match: re.Match[str]) -> str:
    return match.group() if is_reference(match[2].strip("\"'")) else f"{match[1]}{masked_lines.MASK}"


def _piped(match: re.Match[str]) -> str:
    words = match[2].split()
    if all(is_reference(each.strip("\"'")) for each in words):
        return match.group()
    return f"{match[1]}{masked_lines.MASK}{match[3]}"


def _settings(text: str) -> str:
    """A text without the values of names that are secret; what one name stands before may be another one."""
    made, done = [], 0
    for match in _NAME.finditer(text):
        if match.start() < done or not _is_name(match["name"]):
            continue
        value = _VALUE.match(text, match.end())
        if value is not None and not _is_kept(value.group()):
            made += [text[done : match.end()], masked_lines.MASK]
            done = value.end()
    return "".join([*made, text[done:]])


def _is_name(written: str) -> bool:
    name = written.strip("\"'\\").lstrip("-")
    return name == "key" or secret_words.is_secret_name(name)


def _is_kept(value: str) -> bool:
    value = value.strip().rstrip(",}")
    is_plain = not value or value in ("true", "false", "null", "|", ">", "|-", ">-", "{", "[")
    return is_plain or is_reference(value.strip("\"'"))


def _rest(match: re.Match[str]) -> str:
    is_kept = not _is_name(match["name"]) or _is_kept(match["value"])
    return match.group() if is_kept else f"{match['head']}{match['name']}{match['mark']}{masked_lines.MASK}"
