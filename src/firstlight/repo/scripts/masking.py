"""Command lines for people: on one line, and without the secrets that stand in them."""

import re
from collections.abc import Sequence

from firstlight.repo.scripts.shell.expansion import REPO, Text

MASK = "***"
MAX_LENGTH = 2_000
"""Characters; a command with a hundred values is cut."""
_SECRET_FLAG = re.compile(
    r"--?(?:docker-password|password|pass|token|bearer-token|kube-token|api-key|secret-key|from-literal|passphrase)"
)
_SECRET_NAME = re.compile(r"pass(?:word|wd|phrase)|token|api[-_]?key|private[-_]?key|secret[-_]?key|credential", re.I)
_REFERENCE = re.compile(r"\$\w+|\$\{\w+\}|(?:op://|ref\+|vault:)[^\s]*(?: [^\s=]+)*|\{\{-?\s*[.$\w]+\s*-?\}\}")
"""What only says where a secret is, such as ``$TOKEN`` or ``op://…``, is none."""
_SETTINGS = {"--set", "--set-string", "--set-json", "--set-literal"}
_URL_USER = re.compile(r"(://)[^/@\s:]+:[^/@\s]+@")
_INSIDE = re.compile(r"(--(?:[a-z]+-)?(?:password|token)[= ]|--from-literal[= ][^=\s]{1,200}=)[^\s'\"]+")
"""Flags inside of a longer text, such as the script of ``bash -c``."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def is_secret_name(name: str) -> bool:
    """Whether a setting's name says that its value is a secret."""
    last = name.rpartition(".")[2]
    return bool(_SECRET_NAME.search(last)) and not re.search(r"(?:name|ref|path|file|enabled|mount)$", last, re.I)


def words(written: Sequence[Text]) -> list[str]:
    """Words with secrets masked."""
    found: list[str] = []
    flag = ""
    for word in written:
        text = _CONTROL.sub(" ", word.text.replace(f"{REPO}/", "").replace(REPO, "."))
        name, equals, value = text.partition("=")
        if flag:
            found.append(_of_flag(flag, text))
            flag = ""
        elif _SECRET_FLAG.fullmatch(name) or name in _SETTINGS:
            if equals:
                found.append(f"{name}={_of_flag(name, value)}")
            else:
                found.append(text)
                flag = name
        elif equals and not name.startswith("-") and is_secret_name(name):
            found.append(f"{name}={_masked(value)}")
        else:
            found.append(_INSIDE.sub(rf"\1{MASK}", _URL_USER.sub(rf"\1{MASK}@", text)))
    return found


def line(pipeline: Sequence[Sequence[Text]]) -> str:
    """A pipeline on one line."""
    text = " | ".join(" ".join(_quoted(each) for each in words(written)) for written in pipeline)
    return text if len(text) <= MAX_LENGTH else text[:MAX_LENGTH] + " …"


def _of_flag(flag: str, value: str) -> str:
    if flag in _SETTINGS:
        return ",".join(_setting(each) for each in value.split(","))
    if flag.endswith("from-literal"):
        name, equals, secret = value.partition("=")
        return f"{name}={_masked(secret)}" if equals else MASK
    return _masked(value)


def _setting(pair: str) -> str:
    """``name=value`` for a chart; only the names tell which are secrets."""
    name, equals, value = pair.partition("=")
    return f"{name}={_masked(value)}" if equals and is_secret_name(name) else pair


def _masked(value: str) -> str:
    return value if _REFERENCE.fullmatch(value) else MASK


def _quoted(word: str) -> str:
    if word in ("<<EOF", "<") or word.startswith("<("):
        return word
    if not word or (re.search(r"[\s'\"|;&<>()]", word) and not word.startswith(("{{", "$"))):
        return "'" + word.replace("'", "'\\''") + "'"
    return word
