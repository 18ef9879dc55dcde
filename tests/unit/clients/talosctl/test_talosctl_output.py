import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.clients.talosctl import talosctl_output

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)
OBJECTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=4)


@given(
    st.lists(
        st.tuples(OBJECTS, st.sampled_from(["", "\n", " ", "\n\n", "\r\n\t"]), st.sampled_from([None, 4])), max_size=4
    ),
    st.sampled_from(["", "\n", " "]),
)
def test_documents_are_found_however_they_are_concatenated(
    parts: list[tuple[dict[str, Any], str, int | None]], before: str
) -> None:
    text = before + "".join(json.dumps(document, indent=indent) + between for document, between, indent in parts)

    assert talosctl_output.parse_documents(text) == tuple(document for document, _, _ in parts)


@pytest.mark.parametrize("text", ["{", "{}x", "[]", "1", '"a"', "{} {", "null", "[" * 100_000, '{"a":' * 100_000])
def test_what_is_not_a_document_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"Expecting|Extra|not an object|nested"):
        talosctl_output.parse_documents(text)
