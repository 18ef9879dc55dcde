import logging
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.model.secret import Secret


@given(st.binary(min_size=6))
def test_no_way_of_printing_shows_the_value(value: bytes) -> None:
    secret = Secret(value)
    shown = [
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret!r:>40}",
        f"{secret}",
        str([secret]),
        str({"k": secret}),
    ]

    for text in shown:
        assert value.decode("latin-1") not in text
        assert value.hex() not in text


def test_logging_shows_the_mask(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("x").warning("token %s", Secret("hunter2"))

    assert "hunter2" not in caplog.text


def test_a_secret_is_not_pickled() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(Secret("hunter2"))


def test_only_reveal_gives_the_value() -> None:
    assert Secret("hunter2").reveal() == b"hunter2"
