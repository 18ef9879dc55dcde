"""Keys of age as text."""

from firstlight.model.secret import Secret
from firstlight.secrets import age_keys


def test_a_known_pair() -> None:
    """The bytes 7 32 times; sops decrypts with these in the integration tests."""
    assert age_keys.identity(b"\x07" * 32).reveal() == (
        b"AGE-SECRET-KEY-1QURSWPC8QURSWPC8QURSWPC8QURSWPC8QURSWPC8QURSWPC8QURSKMP32K"
    )
    assert age_keys.recipient(b"\x07" * 32) == "age1zwlyl6h27gzv0lfntr7fcqrjrzqazap8sy5zylkxwneh7llf0dksu37mwt"


def test_the_bytes_of_the_identities_in_a_file() -> None:
    seeds = [bytes(range(32)), b"\x07" * 32, b"\xff" * 32]
    lines = [
        "# created: today",
        *(age_keys.identity(each).reveal().decode() for each in seeds),
        "",
        "AGE-PLUGIN-X-1QQQQ",
    ]

    assert age_keys.seeds(Secret("\r\n".join(lines))) == tuple(map(Secret, seeds))


def test_an_identity_with_a_typing_error_is_none() -> None:
    word = age_keys.identity(b"\x07" * 32).reveal().decode()

    assert age_keys.seeds(Secret(word[:-1] + "Q")) == ()
    assert age_keys.seeds(Secret(word.replace("QURS", "QURB", 1))) == ()
