from typing import Any

import pytest

from firstlight.lab.simulations import absent_controllers

INIT = ["argocd", "admin", "redis-initial-password"]


def pod(
    *, init: list[str] | None = None, main: list[str] | None = None, args: list[str] | None = None
) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "x", "command": main, "args": args}]}
    if init is not None:
        spec["initContainers"] = [{"name": "secret-init", "image": "argocd", "command": init}]
    return {"metadata": {"namespace": "argocd", "name": "x"}, "spec": spec}


@pytest.mark.parametrize(
    ("found", "where"),
    [
        (pod(), ()),
        (pod(init=["argocd", "version"]), ()),
        (pod(init=INIT), ("argocd",)),
        (pod(main=["argocd"], args=INIT[1:]), ("argocd",)),
        (pod(main=[*INIT, "-n", "other"]), ("other",)),
        (pod(main=[*INIT, "--namespace=other"]), ("other",)),
        (pod(main=[*INIT, "--namespace"]), ("argocd",)),
    ],
)
def test_the_command_is_found_where_charts_and_manifests_have_it(found: dict[str, Any], where: tuple[str, ...]) -> None:
    assert absent_controllers.password_namespaces(found) == where


def test_every_password_is_another() -> None:
    made = [absent_controllers.password_secret("argocd")["data"]["auth"] for _ in range(2)]

    assert made[0] != made[1]
    assert all(len(each) >= 32 for each in made)
