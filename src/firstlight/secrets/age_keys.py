"""Keys of age, as text: its recipients and identities are bech32 over X25519."""

import re

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from firstlight.model.secret import Secret

_LETTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_PREFIX = "age-secret-key-"
_IDENTITY = re.compile(r"^AGE-SECRET-KEY-1[0-9A-Z]{58}$", re.MULTILINE)
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def identity(seed: bytes) -> Secret:
    """The private key that 32 bytes make: ``AGE-SECRET-KEY-1…``."""
    return Secret(_bech32(_PREFIX, seed).upper())


def recipient(seed: bytes) -> str:
    """The public key to it: ``age1…``."""
    return _bech32("age", X25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw())


def seeds(text: Secret) -> tuple[Secret, ...]:
    """The 32 bytes of each identity in a file of identities; what is not one, or has a typing error, is left out."""
    lines = "\n".join(each.strip() for each in text.reveal().decode(errors="replace").splitlines())
    found = (_seed(each) for each in _IDENTITY.findall(lines))
    return tuple(each for each in found if each is not None)


def _seed(word: str) -> Secret | None:
    letters = word.lower().removeprefix(f"{_PREFIX}1")
    if any(each not in _LETTERS for each in letters):
        return None
    number = 0
    for each in letters[:-6]:
        number = number << 5 | _LETTERS.index(each)
    seed = Secret((number >> 4).to_bytes(32, "big"))  # 52 letters have 260 bits
    return seed if identity(seed.reveal()).reveal() == word.encode() else None


def _bech32(prefix: str, data: bytes) -> str:
    count = -(-len(data) * 8 // 5)
    number = int.from_bytes(data, "big") << (count * 5 - len(data) * 8)
    values = [number >> (5 * index) & 31 for index in range(count - 1, -1, -1)]
    expanded = [ord(each) >> 5 for each in prefix] + [0] + [ord(each) & 31 for each in prefix]
    rest = _checksum(expanded + values + [0] * 6) ^ 1
    values += [rest >> 5 * (5 - index) & 31 for index in range(6)]
    return f"{prefix}1{''.join(_LETTERS[each] for each in values)}"


def _checksum(values: list[int]) -> int:
    found = 1
    for value in values:
        top = found >> 25
        found = (found & 0x1FFFFFF) << 5 ^ value
        for index, each in enumerate(_GENERATOR):
            found ^= each if top >> index & 1 else 0
    return found
