"""The secrets of a run, kept only to be recognised where a program of somebody else prints them."""

import base64
from collections.abc import Iterator

import yaml

from firstlight.execute.world import Resolve
from firstlight.model.secret import MASK, Secret

_SHORTEST = 3
"""Characters of a value below which masking it would only spoil what is read."""
_SHORTEST_LINE = 6
"""Characters of a line of a longer value that could tell something."""
_KEYS = ("client-key-data", "token", "password", "id-token", "refresh-token", "client-secret")
"""What is secret in a kubeconfig."""


class Masks:
    """Everything that must not be seen in what commands print."""

    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._sorted: list[str] = []

    def add(self, secret: Secret) -> None:
        """Hide a value from now on: as it is, line by line, and as Kubernetes shows it."""
        self._texts |= {*_forms(secret.reveal())}
        self._sorted = sorted(self._texts, key=len, reverse=True)

    def add_kubeconfig(self, kubeconfig: Secret) -> None:
        """Hide the keys and tokens of a kubeconfig; addresses and names may be seen."""
        for value in _strings(yaml.safe_load(kubeconfig.reveal())):
            self.add(Secret(value))

    def masked(self, text: str) -> str:
        """The text, with a mask for each secret."""
        for each in self._sorted:
            text = text.replace(each, MASK)
        return text

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
    yield text
    for one in {value, value.strip()}:
        yield base64.b64encode(one).decode()
    if "\n" in text:
        yield from (line.strip() for line in text.splitlines() if len(line.strip()) >= _SHORTEST_LINE)


def _strings(found: object) -> Iterator[str]:
    """The values of secret keys, however deep, and what they are in plain."""
    if isinstance(found, dict):
        for key, value in found.items():
            if key in _KEYS and isinstance(value, str):
                yield value
                if key.endswith("-data"):
                    yield base64.b64decode(value).decode(errors="replace")
            else:
                yield from _strings(value)
    elif isinstance(found, list):
        for each in found:
            yield from _strings(each)
