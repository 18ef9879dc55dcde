"""Which command lines are made, in which environment, and what becomes of the answers."""

import contextlib
import json
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from firstlight import errors
from firstlight.clients import command, helm
from firstlight.clients.helm import Helm
from firstlight.model import helm_chart, secret
from firstlight.model.secret import Secret
from tests.unit.clients.recorder import Recorder

DIGEST = f"sha256:{'a' * 64}"
OCI = helm_chart.OciChart("oci://h:5000/x/c", "1.2.3")
LOGIN = secret.Login("ada", Secret("hunter2"))
KUBECONFIG = "<users: []>"
DEFAULTS = ["--wait=hookOnly", "--timeout=300s", "--dry-run=none"]

Call = Callable[[Helm, Path], Awaitable[object]]

ARGVS: dict[str, tuple[Call, list[str]]] = {
    "version": (lambda h, c: h.version(), ["version", "--template={{.Version}}"]),
    "template": (
        lambda h, c: h.template(helm_chart.LocalChart(c), release="one", namespace="two"),
        ["template", "--namespace=two", "--", "one", "CHART"],
    ),
    "template-all": (
        lambda h, c: h.template(
            helm_chart.LocalChart(c),
            release="one",
            namespace="two",
            values=[{"a": [1, "ü"]}, Secret("b: 2")],
            include_crds=True,
            api_versions=["example.org/v1", "example.org/v1/Widget"],
            kube_version="v1.34.1",
            skip_tests=True,
            no_hooks=True,
            is_upgrade=True,
            skip_schema_validation=True,
            show_only=["templates/a.yaml"],
        ),
        [
            "template",
            "--namespace=two",
            "--include-crds",
            "--api-versions=example.org/v1",
            "--api-versions=example.org/v1/Widget",
            "--kube-version=v1.34.1",
            "--skip-tests",
            "--no-hooks",
            "--is-upgrade",
            "--skip-schema-validation",
            "--show-only=templates/a.yaml",
            '--values=<{"a": [1, "ü"]}>',
            "--values=<b: 2>",
            "--",
            "one",
            "CHART",
        ],
    ),
    "show chart": (lambda h, c: h.show_chart(helm_chart.LocalChart(c)), ["show", "chart", "--", "CHART"]),
    "show values": (lambda h, c: h.show_values(helm_chart.LocalChart(c)), ["show", "values", "--", "CHART"]),
    "pull oci": (
        lambda h, c: h.show_chart(OCI),
        ["pull", "--version=1.2.3", "--untar", "--destination=HOME/pulled", "--", "oci://h:5000/x/c"],
    ),
    "pull by digest": (
        lambda h, c: h.show_chart(helm_chart.OciChart("oci://h/c", "1", digest=DIGEST)),
        ["pull", "--untar", "--destination=HOME/pulled", "--", f"oci://h/c@{DIGEST}"],
    ),
    "pull repository": (
        lambda h, c: h.show_chart(helm_chart.RepositoryChart("https://h/x", "c", "^1 || >2")),
        ["pull", "--repo=https://h/x", "--version=^1 || >2", "--untar", "--destination=HOME/pulled", "--", "c"],
    ),
    "what was pulled": (lambda h, c: h.show_values(OCI), ["show", "values", "--", "HOME/pulled/c"]),
    "package": (
        lambda h, c: h.package(helm_chart.LocalChart(c), c.parent, version="2.0.0", app_version="x y"),
        ["package", "--destination=PARENT", "--version=2.0.0", "--app-version=x y", "--", "CHART"],
    ),
    "push": (
        lambda h, c: h.push(c / "Chart.yaml", "oci://h/x"),
        ["push", "--", "CHART/Chart.yaml", "oci://h/x"],
    ),
    "list": (
        lambda h, c: h.list(namespace="two"),
        ["list", "--namespace=two", "--output=json", "--max=256", "--offset=0"],
    ),
    "list all": (lambda h, c: h.list(), ["list", "--all-namespaces", "--output=json", "--max=256", "--offset=0"]),
    "status": (
        lambda h, c: h.status("one", namespace="two", revision=2),
        ["status", "--namespace=two", "--output=json", "--revision=2", "--", "one"],
    ),
    "history": (
        lambda h, c: h.history("one", namespace="two"),
        ["history", "--namespace=two", "--output=json", "--max=256", "--", "one"],
    ),
    "install": (
        lambda h, c: h.install("one", helm_chart.LocalChart(c), namespace="two", values=[{"a": 1}]),
        [
            "install",
            "--namespace=two",
            "--output=json",
            "--server-side=true",
            *DEFAULTS,
            '--values=<{"a": 1}>',
            "--",
            "one",
            "CHART",
        ],
    ),
    "install-client-side": (
        lambda h, c: h.install(
            "one", helm_chart.LocalChart(c), namespace="two", options=helm_chart.ReleaseOptions(server_side=False)
        ),
        ["install", "--namespace=two", "--output=json", "--server-side=false", *DEFAULTS, "--", "one", "CHART"],
    ),
    "upgrade": (
        lambda h, c: h.upgrade("one", helm_chart.LocalChart(c), namespace="two", rollback_on_failure=True),
        [
            "upgrade",
            "--namespace=two",
            "--output=json",
            "--server-side=auto",
            "--reset-values",
            "--history-max=10",
            "--rollback-on-failure",
            *DEFAULTS,
            "--",
            "one",
            "CHART",
        ],
    ),
    "upgrade-all": (
        lambda h, c: h.upgrade(
            "one",
            helm_chart.LocalChart(c),
            namespace="two",
            install=True,
            history_max=3,
            options=helm_chart.ReleaseOptions(
                server_side=True,
                force_conflicts=True,
                take_ownership=True,
                create_namespace=True,
                skip_crds=True,
                no_hooks=True,
                wait="watcher",
                wait_for_jobs=True,
                timeout=90,
                description="by firstlight",
                labels={"a/b": "c"},
                dry_run="server",
                skip_schema_validation=True,
            ),
        ),
        [
            "upgrade",
            "--namespace=two",
            "--output=json",
            "--server-side=true",
            "--reset-values",
            "--history-max=3",
            "--install",
            "--force-conflicts",
            "--take-ownership",
            "--create-namespace",
            "--skip-crds",
            "--no-hooks",
            "--skip-schema-validation",
            "--wait=watcher",
            "--wait-for-jobs",
            "--timeout=90s",
            "--description=by firstlight",
            "--labels=a/b=c",
            "--dry-run=server",
            "--",
            "one",
            "CHART",
        ],
    ),
}


@pytest.mark.parametrize("name", ARGVS)
async def test_command_lines(helm_client: Helm, program: Recorder, chart: Path, name: str) -> None:
    call, expected = ARGVS[name]

    await call(helm_client, chart)

    shown = {str(chart): "CHART", str(chart.parent): "PARENT"}
    ran = []
    for argv in program.argvs:
        for path, word in shown.items():
            argv = [argument.replace(path, word) for argument in argv]
        ran.append(argv)
    assert expected in ran


async def test_a_home_of_its_own(helm_client: Helm, program: Recorder) -> None:
    await helm_client.version()

    assert program.env == {
        "HOME": "HOME",
        "PATH": "HOME/bin",
        "TMPDIR": "HOME",
        "HELM_CACHE_HOME": "HOME/cache",
        "HELM_CONFIG_HOME": "HOME/config",
        "HELM_DATA_HOME": "HOME/data",
        "HELM_PLUGINS": "HOME/plugins",
        "HELM_REGISTRY_CONFIG": "HOME/registry.json",
        "DOCKER_CONFIG": "HOME/docker",
        "KUBECONFIG": "/dev/null",
        "NO_COLOR": "1",
        "HTTPS_PROXY": "http://p:1",
        "GOMEMLIMIT": str((1 << 30) // 4 * 3),
    }
    [call] = program.calls
    assert call["home"] == ["bin", "plugins", "work"]
    assert call["cwd"].endswith("/work")
    assert not Path(call["env"]["HOME"]).exists()


async def test_a_kubeconfig_reaches_only_what_needs_it(helm_client: Helm, program: Recorder, chart: Path) -> None:
    await helm_client.list()
    assert program.env["KUBECONFIG"] == KUBECONFIG
    await helm_client.template(helm_chart.LocalChart(chart), release="one", namespace="two")
    assert program.env["KUBECONFIG"] == "/dev/null"
    chosen = Helm(program.path, kubeconfig=Secret("users: []"), context="admin@lab", environ={})
    await chosen.list()
    assert program.argv[-1] == "--kube-context=admin@lab"


async def test_passwords_are_in_no_argument_and_no_variable(program: Recorder, chart: Path) -> None:
    client = Helm(program.path, logins={"h:5000": LOGIN}, plain_http=["h:5000"], environ={})

    await client.show_chart(OCI)
    await client.show_chart(helm_chart.RepositoryChart("http://h:5000/charts", "c", "1"))
    await client.registry_login("h:5000", LOGIN)

    for call in program.calls:
        assert "hunter2" not in "".join(call["proc"])
    first = program.calls[0]
    config = first["files"][first["env"]["HELM_REGISTRY_CONFIG"]][1]
    assert json.loads(config) == {"auths": {"h:5000": {"auth": "YWRhOmh1bnRlcjI="}}}
    update = next(argv for argv in program.argvs if argv[0] == "repo")
    assert update[:2] == ["repo", "update"]
    assert update[-2:] == ["--", "firstlight"]
    listed = json.loads(update[2].removeprefix("--repository-config=<").removesuffix(">"))
    assert listed["repositories"] == [
        {
            "name": "firstlight",
            "url": "http://h:5000/charts",
            "username": "ada",
            "password": "hunter2",
            "pass_credentials_all": False,
        }
    ]
    pull = next(argv for argv in program.argvs if argv[-1] == "firstlight/c")
    assert pull == ["pull", update[2], "--version=1", "--untar", "--destination=HOME/pulled", "--", "firstlight/c"]
    login = program.calls[-1]
    assert program.argv == [
        "registry",
        "login",
        "--username=ada",
        "--password-stdin",
        "--registry-config=HOME/registry.json",
        "--plain-http",
        "--",
        "h:5000",
    ]
    assert login["stdin"] == "hunter2"


async def test_nothing_that_was_given_is_in_a_message(program: Recorder, chart: Path) -> None:
    program.says(stderr="Error: hunter2 and sesame-1 at /proc/self/fd/0\n", code=1, when="template")
    client = Helm(program.path, logins={"h": LOGIN}, environ={})

    with pytest.raises(helm.HelmError) as caught:
        await client.template(
            helm_chart.LocalChart(chart),
            release="one",
            namespace="two",
            values=[Secret("token: sesame-1\n"), {"a": "and"}],
        )

    assert caught.value.detail.startswith("••• and ••• at ")


@pytest.mark.parametrize(
    "user",
    [
        "{exec: {command: x}}",
        "{auth-provider: {name: x}}",
        "{token: x, exec: {command: x}}",
    ],
)
def test_a_kubeconfig_with_a_program(tmp_path: Path, user: str) -> None:
    kubeconfig = Secret(f"users: [{{name: a, user: {{token: x}}}}, {{name: b, user: {user}}}]")

    with pytest.raises(errors.Refused, match="'b'"):
        Helm(tmp_path, kubeconfig=kubeconfig)
    Helm(tmp_path, kubeconfig=kubeconfig, allow_exec=True)


@pytest.mark.parametrize("text", ["[", "- a", "users: 7", "users: [x]", "users: [{user: {exec: {}}}]"])
def test_a_kubeconfig_that_is_none(tmp_path: Path, text: str) -> None:
    with pytest.raises(errors.UsageError):
        Helm(tmp_path, kubeconfig=Secret(text))


async def test_a_program_of_the_users_own_has_the_users_environment(program: Recorder) -> None:
    environ = {"HOME": "/home/ada", "PATH": "/opt/bin", "AWS_PROFILE": "x", "HELM_PLUGINS": "/x", "KUBECONFIG": "/x"}

    await Helm(program.path, kubeconfig=Secret("users: []"), allow_exec=True, environ=environ).list()

    env = program.calls[-1]["env"]
    assert (env["HOME"], env["PATH"], env["AWS_PROFILE"]) == ("/home/ada", "/opt/bin", "x")
    assert not env["HELM_PLUGINS"].startswith("/x")
    assert env["KUBECONFIG"].startswith("/proc/")


async def test_what_is_not_offered(helm_client: Helm, program: Recorder, chart: Path) -> None:
    with pytest.raises(errors.UsageError, match="uninstall"):
        await helm_client.upgrade(
            "one", helm_chart.LocalChart(chart), namespace="two", install=True, rollback_on_failure=True
        )
    with pytest.raises(errors.UsageError):
        await helm_client.template(
            helm_chart.LocalChart(chart), release="one", namespace="two", values=[{"a": float("nan")}]
        )
    with pytest.raises(errors.UsageError):
        await helm_client.template(
            helm_chart.LocalChart(chart), release="one", namespace="two", values=[{"a": object()}]
        )
    with pytest.raises(errors.UsageError):
        await helm_client.push(chart / "none.tgz", "oci://h/x")
    with pytest.raises(errors.UsageError):
        await helm_client.package(helm_chart.LocalChart(chart), chart / "none")
    assert not hasattr(helm_client, "uninstall")
    assert program.calls == []


async def test_many_releases_come_in_pages(helm_client: Helm, program: Recorder) -> None:
    one = {"name": "a", "namespace": "b", "revision": "1", "status": "deployed", "chart": "c-1.0.0", "app_version": ""}
    program.says(json.dumps([one] * 256), when="list --all-namespaces --output=json --max=256 --offset=0")
    program.says(json.dumps([one] * 2), when="list --all-namespaces --output=json --max=256 --offset=256")

    assert len(await helm_client.list()) == 258


@pytest.mark.parametrize("stdout", ["", "{", "[1]", '[{"name": 1}]'])
async def test_answers_that_make_no_sense(helm_client: Helm, program: Recorder, chart: Path, stdout: str) -> None:
    program.says(stdout)
    for word in ("list", "install", "push", "package", "get metadata"):
        program.says(stdout, when=word)

    for call in (
        helm_client.list(),
        helm_client.install("one", helm_chart.LocalChart(chart), namespace="two"),
        helm_client.status("one", namespace="two"),
        helm_client.push(chart / "Chart.yaml", "oci://h/x"),
        helm_client.package(helm_chart.LocalChart(chart), chart.parent),
    ):
        with pytest.raises(helm.HelmUnreadable):
            await call


async def test_what_takes_too_long_or_is_not_there(program: Recorder, chart: Path, tmp_path: Path) -> None:
    program.says(sleep=30, when="template")
    with pytest.raises(helm.HelmTimedOut):
        await Helm(program.path).template(helm_chart.LocalChart(chart), release="one", namespace="two", timeout=0.3)
    with pytest.raises(errors.ToolError):
        await Helm(tmp_path / "none").version()


HEADS = ["-", "--", "--post-renderer=", "oci://-", "https://u:p@", "file://", "@", "a,--set=", "../"]
STRANGE = st.one_of(
    st.text(max_size=30),
    st.text(alphabet="-=:,/.@ \n\0ab1", max_size=20),
    st.builds(lambda head, rest: head + rest, st.sampled_from(HEADS), st.text(max_size=9)),
)


@settings(deadline=None)
@given(STRANGE)
@example("--set=a=b")
@example("x,--namespace=y")
@example("oci://h/x:1@y")
@example("oci://h/../x")
async def test_no_string_becomes_an_option(text: str) -> None:
    argvs: list[list[str]] = []

    async def run(argv: Sequence[str], **_: object) -> command.Completed:
        argvs.append(list(argv[1:]))
        return command.Completed(tuple(argv), 1, b"", "Error: no")

    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "run", run)
        path = Path(directory)
        local = helm_chart.LocalChart(path)
        client = Helm(Path("/helm"), kubeconfig=Secret("users: []"), plain_http=["h"])
        calls: list[Awaitable[object]] = [
            client.template(local, release=text, namespace="two"),
            client.template(local, release="one", namespace=text),
            client.template(local, release="one", namespace="two", api_versions=[text]),
            client.template(local, release="one", namespace="two", kube_version=text),
            client.template(local, release="one", namespace="two", show_only=[text]),
            client.show_chart(helm_chart.OciChart(text)),
            client.show_chart(helm_chart.OciChart("oci://h/x", text)),
            client.show_chart(helm_chart.OciChart("oci://h/x", digest=text)),
            client.show_chart(helm_chart.RepositoryChart(text, "x")),
            client.show_chart(helm_chart.RepositoryChart("https://h", text)),
            client.show_chart(helm_chart.RepositoryChart("https://h", "x", text)),
            client.push(path / "x", text),
            client.registry_login(text, LOGIN),
            client.registry_login("h", secret.Login(text, Secret("x"))),
            client.status(text, namespace="two"),
            client.list(namespace=text or "-"),
            client.install("one", local, namespace="two", options=helm_chart.ReleaseOptions(description=text)),
            client.install(
                "one", local, namespace="two", options=helm_chart.ReleaseOptions(labels={text: "x", "y": text})
            ),
        ]
        for call in calls:
            with contextlib.suppress(errors.UsageError, helm.HelmError):
                await call

    known = {
        "--namespace",
        "--output",
        "--version",
        "--untar",
        "--destination",
        "--repo",
        "--api-versions",
        "--kube-version",
        "--show-only",
        "--plain-http",
        "--username",
        "--password-stdin",
        "--registry-config",
        "--max",
        "--offset",
        "--all-namespaces",
        "--server-side",
        "--wait",
        "--timeout",
        "--description",
        "--labels",
        "--dry-run",
        "--devel",
    }
    for argv in argvs:
        words = argv[: argv.index("--")] if "--" in argv else argv
        options = [word for word in words if word.startswith("-")]
        assert {option.split("=")[0] for option in options} <= known
        for option in options:
            name, _, value = option.partition("=")
            if name in {"--api-versions", "--labels", "--show-only"}:
                assert "," not in value
        assert not any(operand.startswith("-") for operand in argv[len(words) + 1 :])
