"""What a machine must not join."""

import pytest

from firstlight import errors
from firstlight.commands.node import add
from firstlight.gates import etcd
from firstlight.model.cluster import Cluster
from firstlight.model.place import Place

INFRA = Cluster(name="infra", place=Place("firstlight.yaml", 1))


@pytest.mark.parametrize(
    ("history", "said", "hint"),
    [
        (etcd.Virgin(), "never bootstrapped", "firstlight up infra"),
        (etcd.Doubtful("cp-1 does not answer"), "not known: cp-1 does not answer", "firstlight doctor infra"),
        (etcd.SplitBrain("two of them"), "not known: two of them", "firstlight doctor infra"),
    ],
)
def test_nothing_joins_what_is_not_known_to_be_a_cluster(history: etcd.History, said: str, hint: str) -> None:
    with pytest.raises(errors.Refused, match=said) as caught:
        add.refuse_unborn(INFRA, history)

    assert hint in caught.value.hint


def test_what_was_bootstrapped_is_joined() -> None:
    add.refuse_unborn(INFRA, etcd.Bootstrapped(("cp-1",)))
