from typing import Any

import pytest

from firstlight.lab.actors import actor_command, actor_table
from firstlight.lab.actors.actor_table import ActorRow

ROW = ActorRow(
    name="thing", of=("flux",), what="a thing", namespace="here", image="thing", program="thing", probe="http://x",
    keep=("log-*", "all", "concurrent"), drop=("events-addr",), flags=("--data={data}", "--listen=x"),
    keep_env=("NAMESPACE", "THING_*"),
)  # fmt: skip
POD: dict[str, Any] = {
    "metadata": {"name": "thing-1", "namespace": "here", "uid": "u"},
    "spec": {"nodeName": "worker-1", "serviceAccountName": "thing"},
    "status": {"podIP": "10.244.0.7"},
}
VALUES = {("ConfigMap", "params"): {"level": "debug"}, ("Secret", "login"): {"token": "t", "THING_KEY": "k"}}


@pytest.mark.parametrize(
    ("words", "kept", "left"),
    [
        (["--log-level=info"], ["--log-level=info"], []),
        (["thing", "serve", "--log-level", "info"], ["--log-level=info"], []),
        (["--all", "--log-level=info"], ["--all", "--log-level=info"], []),
        (["--all", "false"], ["--all=false"], []),
        (["-all"], ["--all"], []),
        (["--data=/etc", "--listen", "0.0.0.0:1"], [], []),
        (["--events-addr=http://nobody"], [], []),
        (["--kubeconfig=/root/.kube/config", "--log-level=info"], ["--log-level=info"], ["--kubeconfig"]),
        (["--"], [], ["--"]),
        (["--log-level=$(THING_LEVEL)"], ["--log-level=warn"], []),
        (["--log-level=$(UNKNOWN)"], ["--log-level=$(UNKNOWN)"], []),
        (["--log-level=$$(THING_LEVEL)"], ["--log-level=$(THING_LEVEL)"], []),
        # A flag without a value is no way to slip in another one.
        (["--all", "$(THING_TRICK)"], ["--all=--data=/etc"], []),
        (["--log-$(THING_LEVEL)=1"], ["--log-$(THING_LEVEL)=1"], []),
        (["--log-level=a\0b"], [], ["--log-level"]),
    ],
)  # fmt: skip
def test_flags_of_a_pod(words: list[str], kept: list[str], left: list[str]) -> None:
    env = {"THING_LEVEL": "warn", "THING_TRICK": "--data=/etc"}

    assert actor_command.arguments(ROW, {"args": words}, env) == (tuple(kept), tuple(left))
    assert actor_command.arguments(ROW, {"command": words}, env) == (tuple(kept), tuple(left))


def config(name: str, key: str, **more: Any) -> dict[str, Any]:
    return {"valueFrom": {"configMapKeyRef": {"name": name, "key": key, **more}}}


def field(path: str) -> dict[str, Any]:
    return {"valueFrom": {"fieldRef": {"fieldPath": path}}}


@pytest.mark.parametrize(
    ("env", "wanted"),
    [
        ([{"name": "NAMESPACE", **field("metadata.namespace")}], {"NAMESPACE": "here"}),
        ([{"name": "THING_IP", **field("status.podIP")}], {"THING_IP": "10.244.0.7"}),
        ([{"name": "THING_X", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}}], {}),
        ([{"name": "THING_A"}], {"THING_A": ""}),
        ([{"name": "A", "value": "a"}, {"name": "THING_B", "value": "$(A)b"}], {"THING_B": "ab"}),
        ([{"name": "LD_PRELOAD", "value": "/x.so"}, {"name": "PATH", "value": "/x"}], {}),
        ([{"name": "THING_L", **config("params", "level")}], {"THING_L": "debug"}),
        ([{"name": "THING_L", **config("params", "none", optional=True)}], {}),
        ([{"name": "THING_L", **config("none", "level", optional=True)}], {}),
        ([{"name": "OTHER", **config("none", "level")}], {}),
        ([{"name": "THING_T", "valueFrom": {"secretKeyRef": {"name": "login", "key": "token"}}}], {"THING_T": "t"}),
        ([{"name": "THING_N", "value": "a\0b"}], {}),
    ],
)  # fmt: skip
def test_variables_of_a_pod(env: list[dict[str, Any]], wanted: dict[str, str]) -> None:
    assert actor_command.environment(ROW, {"env": env}, POD, VALUES) == wanted


def test_all_of_an_object_is_taken_where_the_names_are_known() -> None:
    container = {
        "envFrom": [{"secretRef": {"name": "login"}}, {"configMapRef": {"name": "params"}, "prefix": "THING_"}]
    }

    assert actor_command.environment(ROW, container, POD, VALUES) == {"THING_KEY": "k", "THING_level": "debug"}


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ([{"name": "THING_L", **config("none", "level")}], "ConfigMap none, key level"),
        ([{"name": "THING_L", **config("params", "none")}], "ConfigMap params, key none"),
    ],
)
def test_a_container_waits_for_what_is_not_there(env: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(actor_command.MissingEnvValue, match=message):
        actor_command.environment(ROW, {"env": env}, POD, VALUES)


def test_only_what_is_taken_is_looked_up() -> None:
    """A stranger's manifest cannot make the lab read what it has no use for."""
    container = {"env": [{"name": "THING_L", **config("params", "level")}, {"name": "OTHER", **config("other", "x")}]}

    assert [each.name for each in actor_command.references(ROW, container)] == ["params"]


class Facts:
    plain = {"address": "127.71.1.201", "data": "/lab/data"}  # noqa: RUF012 -- never changed

    def port(self, number: int) -> int:
        return number + 20000

    def actor(self, row: str) -> str:
        return f"address-of-{row}"


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("--storage-addr={address}:{port:9090}", "--storage-addr=127.71.1.201:29090"),
        ("--path={data}/x", "--path=/lab/data/x"),
        ("--repo-server={actor:argocd-repo-server}:{port:8081}", "--repo-server=address-of-argocd-repo-server:28081"),
        ("{content:some-manifests}/data", "{content:some-manifests}/data"),
        ('{"json": 1}', '{"json": 1}'),
    ],
)
def test_places_are_filled_in(text: str, filled: str) -> None:
    assert actor_table.fill_template(text, Facts()) == filled


@pytest.mark.parametrize("text", ["{nothing}", "{port}", "{address:1}"])
def test_a_place_that_nobody_knows_is_a_mistake(text: str) -> None:
    with pytest.raises(ValueError, match="no place"):
        actor_table.fill_template(text, Facts())


def test_contents_and_ports_that_a_text_names() -> None:
    text = "{content:a}/x {port:1} {content:b} {port:2}"

    assert actor_table.template_contents(text) == ("a", "b")
    assert actor_table.template_ports(text) == (1, 2)
    assert actor_table.fill_contents(text, {"a": "/a", "b": "/b"}) == "/a/x {port:1} /b {port:2}"
