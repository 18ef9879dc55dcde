import base64
import textwrap
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube import client_config
from firstlight.model.secret import Secret

PEM = b"-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


def kubeconfig(path: Path, *, cluster: str = "", user: str = "", context: str = "") -> Path:
    """A file with one of each; the arguments are further fields, one a line."""

    def lines(text: str) -> str:
        return textwrap.indent(textwrap.dedent(text).strip(), " " * 6)

    return write(
        path,
        "\n".join(
            (
                "apiVersion: v1",
                "kind: Config",
                "current-context: home",
                "clusters:",
                "  - name: one",
                "    cluster:",
                lines(cluster or "server: https://host:6443"),
                "users:",
                "  - name: me",
                "    user:",
                lines(user or "token: t0k3n"),
                "contexts:",
                "  - name: home",
                "    context:",
                lines("cluster: one\nuser: me\n" + textwrap.dedent(context).strip()),
            )
        ),
    )


def test_a_plain_file(tmp_path: Path) -> None:
    config = kube.load(kubeconfig(tmp_path / "config", context="namespace: apps"))

    assert config == kube.ClientConfig(
        server="https://host:6443",
        namespace="apps",
        context="home",
        source=str(tmp_path / "config"),
        token=Secret("t0k3n"),
    )


def test_secrets_are_masked_in_every_repr(tmp_path: Path) -> None:
    config = kube.load(
        kubeconfig(
            tmp_path / "config",
            cluster="server: https://host\nproxy-url: http://me:hunter2@proxy:3128",
            user=f"""
            username: me
            password: hunter2
            client-certificate-data: {base64.b64encode(PEM).decode()}
            client-key-data: {base64.b64encode(b"hunter2").decode()}
            """,
        )
    )

    assert config.client_key == Secret(b"hunter2")
    assert config.proxy == client_config.Proxy("http://proxy:3128", "me", Secret("hunter2"))
    assert "hunter2" not in repr(config)
    assert "aHVudGVyMg" not in repr(config)


def test_several_files_are_merged_and_the_first_wins(tmp_path: Path) -> None:
    first = write(
        tmp_path / "first",
        """
        clusters: [{name: one, cluster: {server: "https://first"}}]
        users: null
        """,
    )
    second = write(
        tmp_path / "sub/second",
        """
        current-context: home
        clusters:
          - {name: one, cluster: {server: "https://second", tls-server-name: ignored}}
          - {name: two, cluster: {server: "https://two", certificate-authority: ca.crt}}
        users: [{name: me, user: {token: second}}]
        contexts:
          - {name: home, context: {cluster: one, user: me}}
          - {name: away, context: {cluster: two, user: me}}
        """,
    )
    third = write(
        tmp_path / "third",
        """
        current-context: away
        users: [{name: me, user: {token: third}}]
        """,
    )
    (tmp_path / "sub/ca.crt").write_bytes(PEM)
    environ = {"KUBECONFIG": f"{first}:{tmp_path / 'absent'}:{second}::{third}"}

    home = kube.load(environ=environ)
    away = kube.load(environ=environ, context="away")

    assert (home.server, home.server_name, home.token) == ("https://first", "", Secret("second"))
    assert (away.server, away.certificate_authority) == ("https://two", PEM)


def test_without_kubeconfig_it_is_the_file_in_the_home_directory(tmp_path: Path) -> None:
    kubeconfig(tmp_path / ".kube/config")

    assert kube.load(environ={"HOME": str(tmp_path)}).server == "https://host:6443"


def test_data_wins_over_files_and_files_are_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "pki").mkdir()
    for name in ("ca", "client", "key"):
        (tmp_path / "pki" / name).write_bytes(PEM + name.encode())
    data = base64.b64encode(PEM).decode()

    config = kube.load(
        kubeconfig(
            tmp_path / "config",
            cluster=f"server: https://host\ncertificate-authority: pki/ca\ncertificate-authority-data: {data}",
            user="client-certificate: pki/client\nclient-key: pki/key",
        )
    )

    assert config.certificate_authority == PEM
    assert config.client_certificate == PEM + b"client"
    assert config.client_key == Secret(PEM + b"key")


def test_scalars_stay_what_was_written(tmp_path: Path) -> None:
    config = kube.load(kubeconfig(tmp_path / "c", user="token: 0123", context="namespace: 1e3"))

    assert (config.token, config.namespace) == (Secret("0123"), "1e3")


def test_switches_of_a_cluster(tmp_path: Path) -> None:
    config = kube.load(
        kubeconfig(
            tmp_path / "config",
            cluster="""
            server: https://host/k8s/clusters/c-1/
            tls-server-name: kubernetes
            insecure-skip-tls-verify: true
            disable-compression: true
            """,
        )
    )

    assert config.server == "https://host/k8s/clusters/c-1"
    assert (config.server_name, config.insecure, config.compression) == ("kubernetes", True, False)


def test_impersonation(tmp_path: Path) -> None:
    config = kube.load(
        kubeconfig(
            tmp_path / "config",
            user="""
            token: t
            as: jane
            as-uid: "7"
            as-groups: [dev, ops]
            as-user-extra: {scopes: [a, b]}
            """,
        )
    )

    assert config.impersonation == client_config.Impersonation("jane", "7", ("dev", "ops"), (("scopes", ("a", "b")),))


def test_a_token_file_wins_over_a_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from file")

    config = kube.load(kubeconfig(tmp_path / "config", user="token: t\ntokenFile: token"))

    assert (config.token, config.token_file) == (None, tmp_path / "token")


EXEC = """
exec:
  apiVersion: client.authentication.k8s.io/v1
  command: ./bin/login
  args: [--cluster, one]
  env: [{name: PASSWORD, value: hunter2}]
  interactiveMode: IfAvailable
  provideClusterInfo: true
  installHint: |
    brew install login
"""


def test_an_exec_plugin_of_the_users_own_file(tmp_path: Path) -> None:
    config = kube.load(
        kubeconfig(
            tmp_path / "config",
            cluster="""
            server: https://host
            extensions:
              - name: client.authentication.k8s.io/exec
                extension: {audience: "06", port: 6, on: [true, null, 1.5]}
            """,
            user=EXEC,
        ),
        allow_exec=True,
    )

    assert config.exec_plugin == client_config.ExecPlugin(
        api_version="client.authentication.k8s.io/v1",
        command=str(tmp_path / "bin/login"),
        args=("--cluster", "one"),
        env=(("PASSWORD", Secret("hunter2")),),
        install_hint="brew install login",
        provide_cluster_info=True,
        cluster_config={"audience": "06", "port": 6, "on": [True, None, 1.5]},
    )
    assert "hunter2" not in repr(config)


def test_an_exec_plugin_from_anywhere_else_is_refused(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", user=EXEC)

    with pytest.raises(errors.Refused) as caught:
        kube.load(path)

    assert "./bin/login" in caught.value.message
    assert f"{path}:" in caught.value.message
    assert caught.value.exit_code == 3


def test_the_exec_plugin_of_another_user_does_not_matter(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config")
    path.write_text(path.read_text().replace("users:", "users:\n  - {name: x, user: {exec: {command: rm}}}"))

    assert kube.load(path).exec_plugin is None


@pytest.mark.parametrize(
    ("cluster", "user", "context", "expected"),
    [
        ("tls-server-name: x", "", "", "cluster 'one':.server is missing"),
        ("server: 10.0.0.1:6443", "", "", "server must be the address"),
        ("server: https://a:b@host", "", "", "server must be the address"),
        ("server: https://host:port", "", "", "server must be the address"),
        ("server: [https://host]", "", "", "server must be a string"),
        ("server: https://h\ninsecure-skip-tls-verify: maybe", "", "", "must be true or false"),
        (
            "server: https://h\ninsecure-skip-tls-verify: true\ncertificate-authority-data: LS0tLS1CRUdJTg==",
            "",
            "",
            "one of them is wrong",
        ),
        ("server: https://h\ncertificate-authority-data: '%%%'", "", "", "certificate-authority-data is not base64"),
        ("server: https://h\ncertificate-authority-data: YWJj", "", "", "holds no PEM"),
        ("server: https://h\ncertificate-authority: gone.crt", "", "", "gone.crt, which cannot be read"),
        ("server: https://h\nproxy-url: socks5://me:hunter2@p:1", "", "", "socks5 proxy, which firstlight cannot"),
        ("server: https://h\nproxy-url: p:3128", "", "", "must be an http:// or https:// address"),
        ("", "client-certificate-data: YWJj", "", "half of a client certificate: client-key-data"),
        ("", "token: a\nusername: b", "", "has a token and a password"),
        ("", "tokenFile: gone", "", "gone, which does not exist"),
        ("", "auth-provider: {name: gcp}", "", "no longer part of Kubernetes"),
        ("", "as-groups: [a]", "", "without a user"),
        ("", "as-groups: {a: b}", "", "must be a list"),
        ("", "", "cluster: two", "cluster names 'two', which does not exist"),
        ("", "exec: {apiVersion: v1alpha1, command: x}", "", "apiVersion must be one of"),
        ("", "exec: {apiVersion: client.authentication.k8s.io/v1}", "", "command is missing"),
        (
            "",
            "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always}",
            "",
            "gives plugins no terminal",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    tmp_path: Path, cluster: str, user: str, context: str, expected: str
) -> None:
    path = kubeconfig(tmp_path / "config", cluster=cluster, user=user, context=context)

    with pytest.raises(errors.ConfigError) as caught:
        kube.load(path, allow_exec=True)

    assert expected in caught.value.message
    assert caught.value.path == str(path)
    assert caught.value.line > 1
    assert "hunter2" not in caught.value.message


def test_the_line_is_that_of_the_field(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", user="token: a\nas-groups: wrong")

    with pytest.raises(errors.ConfigError) as caught:
        kube.load(path)

    assert path.read_text().splitlines()[caught.value.line - 1].strip() == "as-groups: wrong"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "current-context is not set"),
        ("current-context: nowhere", "no context 'nowhere'"),
        ("[]", "must be a mapping"),
        ("a: [", "is no YAML"),
        ("a: \x07", "is no YAML"),
        ("clusters: [{cluster: {}}]", "clusters[0].name is missing"),
        ("clusters: {}", "clusters must be a list"),
        ("[" * 5000, "YAML"),
    ],
)
def test_files_that_are_no_kubeconfigs(tmp_path: Path, text: str, expected: str) -> None:
    path = write(tmp_path / "config", text)

    with pytest.raises(errors.ConfigError) as caught:
        kube.load(path)

    assert expected in caught.value.message


def test_bad_yaml_does_not_repeat_a_key(tmp_path: Path) -> None:
    path = write(tmp_path / "config", "users:\n  - user: {token: hunter2: [}\n")

    with pytest.raises(errors.ConfigError) as caught:
        kube.load(path)

    assert caught.value.line == 2
    assert caught.value.__cause__ is None
    assert "hunter2" not in str(caught.value)


def test_no_file_at_all(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigError, match="there is no kubeconfig"):
        kube.load(environ={"HOME": str(tmp_path)})


def test_in_cluster(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    (tmp_path / "ca.crt").write_bytes(PEM)
    (tmp_path / "namespace").write_text("apps\n")
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}

    config = kube.in_cluster(directory=tmp_path, environ=environ)

    assert config.server == "https://[fd00::1]:443"
    assert (config.namespace, config.certificate_authority) == ("apps", PEM)
    assert config.token_file == tmp_path / "token"


def test_in_cluster_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigError, match="this is no pod"):
        kube.in_cluster(directory=tmp_path, environ={})
    with pytest.raises(errors.ConfigError, match="no service account token"):
        kube.in_cluster(directory=tmp_path, environ={"KUBERNETES_SERVICE_HOST": "10.96.0.1"})
