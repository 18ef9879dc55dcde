"""Argo CD's rows of the table of actors: which containers they take, and what of them."""

from typing import Any

import pytest

from firstlight.lab.actors import actor_command, actor_table

IMAGE = "quay.io/argoproj/argocd:v3.5.6"


def pod(*containers: dict[str, Any], **labels: str) -> dict[str, Any]:
    metadata = {"name": "x-0", "namespace": "argocd", "uid": "u", "labels": labels}
    return {"metadata": metadata, "spec": {"containers": list(containers)}}


def container(name: str, image: str = IMAGE, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": image, **more}


def rows_of(found: dict[str, Any]) -> list[str]:
    return [row.name for row in actor_table.rows(["argocd"]) if actor_table.container_of(row, found) is not None]


@pytest.mark.parametrize(
    "name", ["argocd-repo-server", "argocd-application-controller", "argocd-applicationset-controller"]
)
@pytest.mark.parametrize("container_name", ["plain", "argocd"])
def test_one_image_is_told_apart_by_its_command(name: str, container_name: str) -> None:
    assert rows_of(pod(container(container_name, args=[f"/usr/local/bin/{name}", "--loglevel", "debug"]))) == [name]


@pytest.mark.parametrize("name", ["argocd-server", "argocd-notifications", "argocd-dex", ""])
def test_other_parts_of_argo_cd_stay_simulated(name: str) -> None:
    assert rows_of(pod(container("x", args=[f"/usr/local/bin/{name}"]))) == []


def test_only_argo_cds_own_redis_is_played() -> None:
    redis = container("redis", "public.ecr.aws/docker/library/redis:8.2.3-alpine", args=["--save", ""])

    assert rows_of(pod(redis, **{"app.kubernetes.io/name": "argocd-redis"})) == ["argocd-redis"]
    assert rows_of(pod(redis, **{"app.kubernetes.io/name": "shop"})) == []


def test_the_password_of_redis_never_becomes_an_argument() -> None:
    given = container("redis", "redis:8", args=["--save", "", "--appendonly", "no", "--requirepass $(REDIS_PASSWORD)"])

    kept, left = actor_command.arguments(actor_table.row("argocd-redis"), given, {"REDIS_PASSWORD": "s3cret"})

    assert (kept, left) == ((), ())


def test_flags_that_point_elsewhere_are_not_taken_over() -> None:
    args = [
        "/usr/local/bin/argocd-application-controller", "--status-processors", "40", "--redis=other:6379",
        "--repo-server", "other:8081", "--metrics-port=8082", "--kubeconfig=/etc/kubernetes/admin.conf",
    ]  # fmt: skip

    kept, left = actor_command.arguments(
        actor_table.row("argocd-application-controller"), container("x", args=args), {}
    )  # fmt: skip

    assert kept == ("--status-processors=40",)
    assert left == ("--kubeconfig",)


@pytest.mark.parametrize(
    ("row", "taken", "refused"),
    [
        (
            "argocd-repo-server",
            ["ARGOCD_GIT_REQUEST_TIMEOUT", "ARGOCD_REPO_SERVER_LOGLEVEL"],
            # Files of the host, another server, what would let a repository read outside itself, and anybody in.
            ["ARGOCD_REPO_SERVER_DISABLE_TLS", "ARGOCD_SSH_DATA_PATH",
             "ARGOCD_PLUGINSOCKFILEPATH", "ARGOCD_REPO_SERVER_OTLP_ADDRESS", "REDIS_SERVER",
             "ARGOCD_REPO_SERVER_ALLOW_OUT_OF_BOUNDS_SYMLINKS", "ARGOCD_ASK_PASS_SOCK", "PATH", "LD_PRELOAD"],
        ),
        (
            "argocd-application-controller",
            ["ARGOCD_SYNC_WAVE_DELAY", "ARGOCD_RECONCILIATION_TIMEOUT", "ARGOCD_HARD_RECONCILIATION_TIMEOUT"],
            ["ARGOCD_FAKE_IN_CLUSTER", "KUBECONFIG", "ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER", "HTTPS_PROXY"],
        ),
        (
            "argocd-applicationset-controller",
            ["NAMESPACE", "ARGOCD_APPLICATIONSET_CONTROLLER_POLICY"],
            ["ARGOCD_APPLICATIONSET_CONTROLLER_SCM_ROOT_CA_PATH", "ARGOCD_APPLICATIONSET_CONTROLLER_REPO_SERVER"],
        ),
    ],
)  # fmt: skip
def test_variables_are_taken_over_by_name(row: str, taken: list[str], refused: list[str]) -> None:
    given = container("x", env=[{"name": name, "value": "v"} for name in [*taken, *refused]])

    found = actor_command.environment(actor_table.row(row), given, pod(given), {})

    assert set(found) == set(taken)
