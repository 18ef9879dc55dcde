import datetime

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from firstlight import errors
from firstlight.clients.helm import helm_program
from firstlight.model.secret import MASK, Secret

DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), DATA, max_size=4))
def test_data_becomes_yaml_that_says_the_same(data: dict[str, object]) -> None:
    text = helm_program.as_secret(data).reveal().decode("utf-8", "surrogatepass")
    try:
        read = yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        # Letters that YAML does not know outside of escapes: JSON parsers, as Helm's, read them.
        return

    assert read == data


@pytest.mark.parametrize("value", [float("inf"), datetime.date(2026, 3, 1), {1, 2}, b"x"])
def test_what_json_cannot_say(value: object) -> None:
    with pytest.raises(errors.UsageError, match="JSON"):
        helm_program.as_secret({"a": value})


def test_a_secret_is_given_as_it_is() -> None:
    secret = Secret("a: 1\n")

    assert helm_program.as_secret(secret) is secret


def test_secret_values_are_masked_and_others_stay() -> None:
    given = Secret(
        "auth: {password: pw-1, user: ada}\nlist: [a-long-value, short]\nimage: {pullPolicy: IfNotPresent}\n"
        "certificate: |\n  line one of it\n  line two of it\nport: 8443\napiToken: 123456789\n"
    )

    said = "pw-1 ada a-long-value short IfNotPresent line two of it 8443 123456789 plain-value"

    assert helm_program.without_values(said, [given, {"x": "plain-value"}]) == (
        f"{MASK} ada {MASK} short IfNotPresent {MASK} 8443 {MASK} plain-value"
    )


def test_what_is_no_yaml_is_masked_by_lines() -> None:
    assert helm_program.without_values("near hunter2 there", [Secret("a: [\nhunter2\n")]) == f"near {MASK} there"


def test_anchors_in_a_circle() -> None:
    assert helm_program.without_values("sesame-1", [Secret("a: &x {b: *x, token: sesame-1}")]) == MASK
