"""Secrets in what others print."""

import base64
import binascii
import contextlib
import hashlib
import html
import json
import re
import urllib.parse
from collections.abc import Callable, Iterator

import hypothesis
import pytest
from hypothesis import strategies

from firstlight.execute.masks import Masks
from firstlight.model.secret import MASK, Secret


def test_values_are_masked_plain_and_as_kubernetes_shows_them() -> None:
    masks = Masks()
    masks.add(Secret("hunter2\n"))

    assert masks.masked("the password is hunter2!") == "the password is •••!"
    for value in (b"hunter2", b"hunter2\n"):
        assert masks.masked(base64.b64encode(value).decode()) == "•••"


def test_each_line_of_a_long_value_is_masked() -> None:
    masks = Masks()
    masks.add(Secret("-----BEGIN KEY-----\nMC4CAQAwBQYDK2Vw\n-----END KEY-----\n"))

    assert masks.masked("  MC4CAQAwBQYDK2Vw") == "  •••"


def test_longer_values_are_masked_before_those_that_they_contain() -> None:
    masks = Masks()
    masks.add(Secret("abc"))
    masks.add(Secret("abc-and-more"))

    assert masks.masked("abc-and-more abc") == "••• •••"


def test_what_is_almost_nothing_is_left_alone() -> None:
    masks = Masks()
    masks.add(Secret("1"))
    masks.add(Secret(""))

    assert masks.masked("1 of 10") == "1 of 10"


def test_of_a_kubeconfig_keys_and_tokens_are_masked_and_addresses_are_not() -> None:
    key = base64.b64encode(b"private key").decode()
    masks = Masks()
    masks.add_kubeconfig(
        Secret(
            "clusters: [{name: home, cluster: {server: 'https://10.0.0.1:6443'}}]\n"
            f"users: [{{name: me, user: {{client-key-data: {key}, token: abcdef}}}}]\n"
        )
    )

    assert masks.masked(f"{key} private key abcdef https://10.0.0.1:6443") == "••• ••• ••• https://10.0.0.1:6443"


async def test_what_is_resolved_is_masked_from_then_on() -> None:
    async def resolve(reference: str) -> Secret:
        return Secret(f"value of {reference}")

    masks = Masks()
    assert (await masks.remembering(resolve)("env:X")).reveal() == b"value of env:X"

    assert masks.masked("it is value of env:X") == "it is •••"


ENCODERS: dict[str, Callable[[str, str], str]] = {
    "basic": lambda name, value: base64.b64encode(f"{name}:{value}".encode()).decode(),
    "base64": lambda name, value: base64.b64encode(value.encode()).decode(),
    "url-safe": lambda name, value: base64.urlsafe_b64encode(f"{name}{value}{name}".encode()).decode(),
    "unpadded": lambda name, value: base64.b64encode(f"{name}{value}".encode()).decode().rstrip("="),
    "in a blob": lambda name, value: base64.b64encode(json.dumps({"auth": [name, value, name]}).encode()).decode(),
    "beside letters": lambda name, value: f"xyz{base64.b64encode(value.encode()).decode()}",
    "hex": lambda name, value: value.encode().hex(),
    "upper hex": lambda name, value: f"0{name.encode().hex()}{value.encode().hex()}".upper(),
    "hex of a dump": lambda name, value: f"{name}{value}".encode().hex(":"),
    "spaced hex": lambda name, value: f"{name}{value}".encode().hex(" "),
    "quoted": lambda name, value: f"https://{name}:{urllib.parse.quote(value, safe='')}@git.example.org",
    "quoted with plus": lambda name, value: f"?user={name}&password={urllib.parse.quote_plus(value)}",
    "quoted in small letters": lambda name, value: re.sub(
        "%..", lambda found: found[0].lower(), urllib.parse.quote(value)
    ),
    "all quoted": lambda name, value: "".join(f"%{byte:02X}" for byte in value.encode()),
    "quoted twice": lambda name, value: urllib.parse.quote(urllib.parse.quote(value, safe=""), safe=""),
    "json": lambda name, value: json.dumps({name: value}),
    "html": lambda name, value: html.escape(value),
}
VALUES = strategies.text(strategies.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=8, max_size=40)
NAMES = strategies.from_regex(r"[a-z]{0,7}", fullmatch=True)


def looks(text: str) -> Iterator[str]:
    """A text as somebody reads it who wants the secret: as it is, decoded, and with all that is not a letter gone."""
    yield text
    yield urllib.parse.unquote(urllib.parse.unquote_plus(text))
    yield html.unescape(text)
    for run in re.findall(r"[A-Za-z0-9+/_=-]+", text):
        for start in range(4):
            letters = run[start:].rstrip("=").replace("-", "+").replace("_", "/")
            letters = letters[: len(letters) - 1] if len(letters) % 4 == 1 else letters
            with contextlib.suppress(binascii.Error):
                yield base64.b64decode(letters + "=" * (-len(letters) % 4)).decode(errors="replace")
    for run in re.findall(r"[0-9A-Fa-f: ]+", text):
        digits = re.sub("[: ]", "", run)
        for start in (0, 1):
            yield bytes.fromhex(digits[start : start + (len(digits) - start) // 2 * 2]).decode(errors="replace")


@pytest.mark.parametrize("encode", ENCODERS.values(), ids=ENCODERS)
@hypothesis.given(value=VALUES, name=NAMES)
def test_no_encoding_of_a_secret_gets_through(encode: Callable[[str, str], str], value: str, name: str) -> None:
    hypothesis.assume(value not in name)
    masks = Masks()
    masks.add(Secret(value))

    shown = masks.masked(f"it said: {encode(name, value)} (exit 1)")

    assert MASK in shown
    assert not any(value in look for look in looks(shown))


@pytest.mark.parametrize("value", ["abc", "pw1", "a+b", "100"])
def test_a_short_secret_is_hidden_in_a_header_and_does_not_hide_all_else(value: str) -> None:
    masks = Masks()
    masks.add(Secret(value))
    header = base64.b64encode(f"admin:{value}".encode()).decode()
    plain = "Deployment kube-system/coredns rolled out in 12 s: sha256:" + hashlib.sha256(b"x").hexdigest()

    assert masks.masked(f"Authorization: Basic {header}") == f"Authorization: Basic {MASK}"
    assert masks.masked(plain) == plain


@pytest.mark.parametrize("width", [64, 76])
def test_lines_of_something_encoded_are_masked(width: int) -> None:
    value = hashlib.sha512(b"a").hexdigest() * 3
    masks = Masks()
    masks.add(Secret(value))
    whole = base64.b64encode(value.encode()).decode()

    for start in range(0, len(whole) - width, width):
        assert masks.masked(whole[start : start + width]) == MASK


@hypothesis.given(strategies.text(max_size=200))
def test_a_text_without_the_secret_stays(text: str) -> None:
    masks = Masks()
    masks.add(Secret("correct horse battery"))

    assert masks.masked(text) == text
