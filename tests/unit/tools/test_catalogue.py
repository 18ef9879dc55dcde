import pytest

from firstlight import errors
from firstlight.cli import main
from firstlight.tools import catalogue, sources

PROGRAMS = {
    "talosctl", "omnictl", "talhelper", "helm", "kustomize", "helmfile", "git", "sops", "op", "cilium", "flux",
    "kubectl",
}  # fmt: skip
COMPONENTS = {
    "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "source-controller",
    "kustomize-controller", "helm-controller", "argocd", "lab-proxy", "lab-kubelet",
}  # fmt: skip
COMMANDS_OF_THE_DESIGN = {
    "init", "add", "explain", "schema", "tools", "demo", "inventory", "plan", "graph", "render", "boundary", "status",
    "runs", "owners", "drift", "report", "ui", "up", "verify", "handover", "rehearse", "decide", "change", "audit",
    "node", "move", "override", "doctor", "recover", "backup", "lab",
}  # fmt: skip
ENTRY = """
[[tool]]
name = "thing"
kind = "program"
summary = "a thing"
version = "1.0.0"
used_by = ["up"]
by_hand = "Ask for it."
"""


def test_has_every_program_component_and_peer() -> None:
    tools = catalogue.load().tools

    assert set(tools) == PROGRAMS | COMPONENTS | {"kapp"}
    assert {tool.name for tool in tools.values() if tool.kind is catalogue.Kind.COMPONENT} == COMPONENTS
    assert {tool.name for tool in tools.values() if tool.kind is catalogue.Kind.PEER} == {"kapp"}


def test_every_pin_directory_has_an_entry_and_every_entry_its_pin() -> None:
    pins = sources.lab_directory() / "pins"
    on_disk = {path.name for path in pins.iterdir() if path.is_dir()}
    named = {tool.build.pin for tool in catalogue.load().tools.values() if tool.build and tool.build.pin}

    assert named == on_disk
    assert all((pins / name / "go.sum").is_file() for name in named)


PINNED = [tool for tool in catalogue.load().tools.values() if tool.build and tool.build.pin]


@pytest.mark.parametrize("tool", PINNED, ids=lambda tool: tool.name)
def test_every_pin_requires_the_version_of_its_entry(tool: catalogue.Tool) -> None:
    """Else the binary would be of another version than it is stamped with."""
    assert tool.build is not None
    module = sources.read(sources.lab_directory() / tool.build.directory)

    assert f" v{tool.version}\n" in module.go_mod.replace(" // indirect", "")
    if tool.build.package != ".":
        assert tool.build.package in module.go_mod


def test_every_entry_has_a_way_or_a_sentence() -> None:
    for tool in catalogue.load().tools.values():
        assert tool.build or tool.download or tool.by_hand
        if not (tool.build and tool.download):
            assert tool.by_hand, f"{tool.name}: why is one way missing?"


def test_components_are_exact() -> None:
    for tool in catalogue.load().tools.values():
        if tool.kind is catalogue.Kind.COMPONENT and tool.requirement is not None:
            assert tool.requirement.text == f"=={tool.version}"


def test_used_by_names_commands() -> None:
    known = COMMANDS_OF_THE_DESIGN | {"bench"} | {name for group in main.COMMANDS.values() for name in group}

    for tool in catalogue.load().tools.values():
        assert tool.used_by
        assert set(tool.used_by) <= known


def test_sets_start_with_what_the_rest_needs() -> None:
    sets = catalogue.load().sets

    lab = {
        "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "lab-proxy", "lab-kubelet",
        "kubectl",
    }  # fmt: skip
    assert set(sets["lab"]) == set(sets["demo"]) == set(sets["tests"]) == lab
    assert set(sets["bench"]) == lab | {"helm"}
    for members in sets.values():
        assert members[:2] == ("etcd", "kube-apiserver")


def test_kubernetes_is_stamped_with_its_version() -> None:
    known = catalogue.load()

    stamps = [catalogue.fill(stamp, known.get("kube-apiserver")) for stamp in known.stamps["kubernetes"]]

    assert "k8s.io/component-base/version.gitVersion=v1.36.3" in stamps
    assert "k8s.io/client-go/pkg/version.gitMinor=36" in stamps


def test_variables_are_derived_from_names() -> None:
    assert catalogue.load().get("kube-apiserver").variable == "FIRSTLIGHT_KUBE_APISERVER"


def test_an_unknown_name_is_a_usage_error_with_the_nearest_names() -> None:
    with pytest.raises(errors.UsageError, match="kube-apisever") as caught:
        catalogue.load().get("kube-apisever")

    assert "kube-apiserver" in caught.value.hint
    assert caught.value.exit_code == 64


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (ENTRY + 'colour = "red"', "unknown key 'colour'"),
        (ENTRY.replace('by_hand = "Ask for it."', ""), "neither a way"),
        (ENTRY.replace("program", "pogrom"), "kind"),
        (ENTRY + 'needs = ">=2.0"', "not what is needed"),
        (ENTRY + 'needs = "about 2"', "not a requirement"),
        (ENTRY + 'ask = ["--version"]', "belong together"),
        (ENTRY + "ask = ['--version']\nanswer = '\\d+'", "exactly one group"),
        (ENTRY + '[tool.build]\npackage = "x"\nseconds = 1', "either a pin or a source"),
        (ENTRY + '[tool.build]\npin = "x"\npackage = "x"\nseconds = 1\nstamps = "y"', "no stamps 'y'"),
        (ENTRY + '[tool.download]\nurl = "http://x/y"\nchecksum = "https://x/z"', "by https"),
        (ENTRY + '[tool.download]\nurl = "https://x/y"\nchecksum = ""', "needs the https URL"),
        (ENTRY + '[tool.download]\nurl = "https://x/y.tar.gz"\nchecksum = "https://x/z"', "belongs to an archive"),
        (ENTRY + '[tool.download]\nurl = "https://x/{colour}"\nchecksum = "https://x/z"', "colour"),
        (ENTRY + ENTRY, "twice"),
        ("[sets]\nlab = ['nothing']\n" + ENTRY, "unknown tools: nothing"),
        ("[colours]\n" + ENTRY, "unknown table 'colours'"),
    ],
)
def test_refuses_a_catalogue_that_says(text: str, complaint: str) -> None:
    with pytest.raises(errors.ConfigError, match=complaint):
        catalogue.parse(text, path="catalogue.toml")
