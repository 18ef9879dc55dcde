"""Keys of age as text."""

from firstlight.secrets import age


def test_a_known_pair() -> None:
    """The bytes 7 32 times; sops decrypts with these in the integration tests."""
    assert age.identity(b"\x07" * 32).reveal() == (
        b"AGE-SECRET-KEY-1QURSWPC8QURSWPC8QURSWPC8QURSWPC8QURSWPC8QURSWPC8QURSKMP32K"
    )
    assert age.recipient(b"\x07" * 32) == "age1zwlyl6h27gzv0lfntr7fcqrjrzqazap8sy5zylkxwneh7llf0dksu37mwt"
