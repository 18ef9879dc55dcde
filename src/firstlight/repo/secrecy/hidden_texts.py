"""Texts inside other texts: in base64, compressed, in here-documents of scripts, and between the lines of templates."""

import base64
import binascii
import itertools
import re
import zlib
from collections.abc import Iterator

LONGEST = 1 << 22
"""Bytes of a text that is unpacked; machines and API servers take less."""
_SHORTEST = 40
"""Characters of base64 in which a manifest or a key can be."""
_BASE64 = re.compile(r"\s*(?:[A-Za-z0-9+/]{4}\s*)+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\s*")
_GZIP = b"\x1f\x8b"
SECRET_MARKS = (b"U2VjcmV0", b"NlY3Jld", b"TZWNyZX", b"H4sI")
"""The word Secret in base64, which has three forms by where it begins; and anything compressed."""
LONG_BASE64 = re.compile(r"[A-Za-z0-9+/]{120}")
"""Enough base64 for a key with something before it."""

SCRIPTS = (".sh", ".bash", ".zsh", ".just", ".mk", ".toml", ".tf", ".tofu", "justfile", "Makefile", "Dockerfile")
"""How the names of files end that hold manifests in here-documents."""
TEMPLATES = (".j2", ".jinja", ".jinja2", ".gotmpl", ".tmpl", ".tpl")
_HERE = re.compile(r"<<[-~]?[ \t]*(?P<quote>[\"'\\]?)(?P<end>[A-Za-z_]\w*)(?P=quote)[^\n]*\n")
_MOST = 50
"""Here-documents of one text; each is looked for to the end."""
_STATEMENT = re.compile(r"\{%(?:[^%{]|%(?!\})|\{(?!%))*%\}|\{#(?:[^#{]|#(?!\})|\{(?!#))*#\}")
_VALUE = re.compile(r"\{\{(?:[^{}]|\{(?!\{)|\}(?!\}))*\}\}")
_BARE = re.compile(r"^[ \t]*(?:\{\{[^{}]*\}\}[ \t]*)+$", re.MULTILINE)
"""A line of actions alone, such as ``{{- if .Values.tls }}``."""


def unpacked(value: str) -> str | None:
    """Return the text that base64 stands for, compressed or not; None for anything else."""
    if len(value) < _SHORTEST or not _BASE64.fullmatch(value):
        return None
    try:
        data = base64.b64decode("".join(value.split()), validate=True)
        if data.startswith(_GZIP):
            data = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, LONGEST)
        return data.decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError):
        return None


def here_documents(text: str) -> Iterator[tuple[int, str]]:
    """Yield the here-documents of scripts and of HCL, each with the number of lines before it."""
    for start in itertools.islice(_HERE.finditer(text), _MOST):
        end = re.compile(rf"^[ \t]*{start['end']}[ \t]*$", re.MULTILINE).search(text, start.end())
        if end is not None:
            yield text.count("\n", 0, start.end()), text[start.end() : end.start()]


def without_template(text: str) -> str:
    """Return a template with as many lines as before, in which statements are gone and values are ``<variable>``."""

    def emptied(match: re.Match[str]) -> str:
        return "\n" * match.group().count("\n")

    return _VALUE.sub(lambda match: "<variable>" + emptied(match), _BARE.sub(emptied, _STATEMENT.sub(emptied, text)))
