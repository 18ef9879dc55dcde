from typing import Any

import pytest

from firstlight.clients.kube import api_request


@pytest.mark.parametrize(
    ("wanted", "live", "expected"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {}, False),
        ({"a": True}, {"a": 1}, False),
        ({"a": {"b": []}, "c": None, "d": {}, "e": ""}, {"a": {}}, True),
        ({"a": [{"n": 1}, {"n": 3}]}, {"a": [{"n": 1, "x": 0}, {"n": 2}, {"n": 3}]}, True),
        ({"a": [{"n": 3}, {"n": 1}]}, {"a": [{"n": 1}, {"n": 3}]}, False),
        ({"a": [1, 1]}, {"a": [1]}, False),
        ({"a": [1]}, {"a": None}, False),
        ({"a": {"b": 1}}, {"a": "b"}, False),
    ],
)
def test_a_live_object_may_hold_more(wanted: Any, live: Any, expected: bool) -> None:
    assert api_request.is_subset(wanted, live) is expected


def test_string_data_of_a_secret_comes_back_encoded() -> None:
    wanted = {"kind": "Secret", "data": {"a": "MQ=="}, "stringData": {"b": "2"}}

    assert api_request.is_object_subset(wanted, {"kind": "Secret", "data": {"a": "MQ==", "b": "Mg=="}})
    assert not api_request.is_object_subset(wanted, {"kind": "Secret", "data": {"a": "MQ==", "b": "Mw=="}})
