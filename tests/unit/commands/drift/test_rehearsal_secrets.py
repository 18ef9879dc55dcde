"""Dummies for the foundation of a cluster."""

from pathlib import Path

from firstlight.commands.rehearse import work_tree_copy
from firstlight.model.place import Place
from firstlight.model.platform import FoundationSecret, Platform


def secret(name: str, cluster: str = "", **data: str) -> FoundationSecret:
    return FoundationSecret(
        name=name, namespace="flux-system", data=data, place=Place("firstlight.yaml", 3), cluster=cluster
    )


def platform(*secrets: FoundationSecret) -> Platform:
    return Platform(name="home", root=Path("/x"), engine=None, clusters=(), components=(), secrets=secrets)


async def test_the_key_that_flux_reads_is_one_whatever_the_reference_is_called() -> None:
    made = work_tree_copy.dummy_secrets_of(platform(secret("sops", **{"home.agekey": "op://home/flux/thing"})), "home")

    assert (await made.resolve("op://home/flux/thing")).reveal().startswith(b"AGE-SECRET-KEY-1")
    assert (await made.resolve("env:TOKEN")).reveal().startswith(b"rehearsal-")


def test_it_is_told_what_stands_for_what_and_no_other_clusters_secret() -> None:
    made = work_tree_copy.dummy_secrets_of(
        platform(secret("a", token="env:A"), secret("b", "other", token="env:B")), "home"
    )

    assert [each.declared for each in made.mapped] == ["flux-system/a: token (env:A)"]
