import msgspec
import yaml
from hypothesis import given
from hypothesis import strategies as st

from firstlight.clients.kube import api_request


@given(st.dictionaries(st.text(max_size=20), st.text()))
def test_an_apply_means_the_same_as_json_and_as_yaml(data: dict[str, str]) -> None:
    body = api_request.as_apply(data)

    assert msgspec.json.decode(body) == data
    assert yaml.safe_load(body) == data
