"""The secrets of a run, kept only to be recognised where a program of somebody else prints them."""

import base64
import binascii
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator

import yaml

from firstlight.model import secret_words
from firstlight.model.secret import MASK, Resolve, Secret

_SHORTEST = 3
"""Characters of a value below which masking it would only spoil what is read."""
_SHORTEST_LINE = 6
"""Characters of a line of a longer value that could tell something."""
_SHORTEST_PART = 12
"""Bytes of a part of a value, alone on a line of something encoded, that are not there by chance."""
_LONGEST_IN_URL = 4096
"""Bytes of the longest value that is looked for in URLs."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{4,}={0,2}")
_HEX = re.compile(r"[0-9A-Fa-f](?:[ :]?[0-9A-Fa-f]){5,}")
_STANDARD = str.maketrans("-_", "+/")


class Masks:
    """Everything that must not be seen in what commands print."""

    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._sorted: list[str] = []
        self._values: set[bytes] = set()
        self._in_urls: dict[str, re.Pattern[str]] = {}

    def add(self, secret: Secret) -> None:
        """Hide a value from now on: as it is, line by line, and as programs encode it."""
        value = secret.reveal()
        forms = {*_forms(value)}
        if not forms:
            return
        self._texts |= forms
        self._sorted = sorted(self._texts, key=len, reverse=True)
        stripped = value.strip()
        self._values |= {stripped, *(each.encode() for each in _in_json(stripped.decode(errors="replace")))}
        for text in _lines(value):
            if len(text) <= _LONGEST_IN_URL:
                self._in_urls.setdefault(text, _in_url(text))

    def add_kubeconfig(self, kubeconfig: Secret) -> None:
        """Hide the keys and tokens of a kubeconfig; addresses and names may be seen."""
        for value in _strings(yaml.safe_load(kubeconfig.reveal())):
            self.add(Secret(value))

    def masked(self, text: str) -> str:
        """The text, with a mask for each secret, also where it is a part of something that was encoded as a whole.

        A header for Basic is such a thing: a name, a colon and the password, all in base64.
        """
        if self._values:
            text = _BASE64.sub(lambda match: self._encoded(match[0], _from_base64), text)
            text = _HEX.sub(lambda match: self._encoded(match[0], _from_hex), text)
        if "%" in text or "+" in text:
            for pattern in self._in_urls.values():
                text = pattern.sub(MASK, text)
        for each in self._sorted:
            text = text.replace(each, MASK)
        return text

    def _encoded(self, run: str, decode: Callable[[str], Iterable[bytes]]) -> str:
        """A run of letters, or a mask where it means a secret, or is a line of one."""
        for meant in decode(run):
            for value in self._values:
                if value in meant or (len(meant) >= _SHORTEST_PART and meant in value):
                    return MASK
        return run

    def remembering(self, resolve: Resolve) -> Resolve:
        """The same way to values; each of them is hidden from then on."""

        async def resolved(reference: str) -> Secret:
            value = await resolve(reference)
            self.add(value)
            return value

        return resolved


def _forms(value: bytes) -> Iterator[str]:
    text = value.decode(errors="replace").strip()
    if len(text) < _SHORTEST:
        return
    for one in {value, value.strip()}:
        yield base64.b64encode(one).decode()
    for each in _lines(value):
        yield each
        yield from _in_json(each)
        yield html.escape(each)


def _in_json(text: str) -> tuple[str, str]:
    return json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]


def _lines(value: bytes) -> Iterator[str]:
    """The value, and the lines of one that has several, as far as they tell something."""
    text = value.decode(errors="replace").strip()
    yield text
    if "\n" in text:
        yield from (line.strip() for line in text.splitlines() if len(line.strip()) >= _SHORTEST_LINE)


def _in_url(text: str) -> re.Pattern[str]:
    """A text as URLs have it: any of its letters in hex after a percent sign, perhaps twice; a space as plus."""
    return re.compile("".join(_letter_in_url(each) for each in text))


def _letter_in_url(letter: str) -> str:
    encoded = "".join(
        "%(?:25)?" + "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{byte:02x}")
        for byte in letter.encode(errors="replace")
    )
    return f"(?:{re.escape(letter)}|{encoded}{'|[+]' if letter == ' ' else ''})"


def _from_base64(run: str) -> Iterator[bytes]:
    """What a run means, wherever in it the encoded begins, in either alphabet, padded or not."""
    letters = run.rstrip("=").translate(_STANDARD)
    for start in range(min(4, len(letters))):
        rest = letters[start:]
        whole = rest[: len(rest) - 1] if len(rest) % 4 == 1 else rest
        yield base64.b64decode(whole + "=" * (-len(whole) % 4))


def _from_hex(run: str) -> Iterator[bytes]:
    digits = run.replace(" ", "").replace(":", "")
    for start in (0, 1):
        rest = digits[start:]
        yield binascii.unhexlify(rest[: len(rest) - len(rest) % 2])


def _strings(found: object) -> Iterator[str]:
    """The values of secret keys, however deep, and what they are in plain."""
    if isinstance(found, dict):
        for key, value in found.items():
            if key in secret_words.KUBECONFIG and isinstance(value, str):
                yield value
                if key.endswith("-data"):
                    yield base64.b64decode(value).decode(errors="replace")
            else:
                yield from _strings(value)
    elif isinstance(found, list):
        for each in found:
            yield from _strings(each)
