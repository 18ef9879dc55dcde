import re

import pytest

from firstlight import errors
from firstlight.cli import main
from firstlight.commands.demo import demo
from firstlight.commands.rehearse import lab_kit
from firstlight.tools import catalogue, go_sources

PROGRAMS = {
    "talosctl", "talosctl-1-13", "omnictl", "talhelper", "helm", "kustomize", "helmfile", "git", "sops", "op", "cilium",
    "flux", "kubectl",
}  # fmt: skip
COMPONENTS = {
    "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "source-controller",
    "kustomize-controller", "helm-controller", "source-watcher", "notification-controller", "argocd", "lab-proxy",
    "lab-kubelet", "lab-machine",
    "lab-redis", "lab-guard", "flux-operator",
}  # fmt: skip
CONTENT_OF_TESTS = {
    "cilium-chart", "cert-manager-chart", "external-secrets-chart", "argocd-manifests", "flux-manifests",
    "gateway-api-crds",
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
BUILD = '[tool.build]\npin = "x"\npackage = "x"\nseconds = 1\n'
HASHED = f'sha256 = {{linux-amd64 = "{"0" * 64}"}}'
COPY = f'[tool.build.copy]\npath = "x"\nversion = "v1"\nsum = "h1:{"0" * 43}="\nto = "TO"\n'


def test_has_every_program_component_and_peer() -> None:
    tools = catalogue.load().tools

    assert set(tools) == PROGRAMS | COMPONENTS | {"kapp"}
    assert {tool.name for tool in tools.values() if tool.kind is catalogue.ToolKind.COMPONENT} == COMPONENTS
    assert {tool.name for tool in tools.values() if tool.kind is catalogue.ToolKind.PEER} == {"kapp"}


def test_every_pin_directory_has_an_entry_and_every_entry_its_pin() -> None:
    pins = go_sources.lab_directory() / "pins"
    on_disk = {path.name for path in pins.iterdir() if path.is_dir()}
    named = {tool.build.pin for tool in catalogue.load().tools.values() if tool.build and tool.build.pin}

    assert named == on_disk
    assert all((pins / name / "go.sum").is_file() for name in named)


PINNED = [tool for tool in catalogue.load().tools.values() if tool.build and tool.build.pin]


@pytest.mark.parametrize("tool", PINNED, ids=lambda tool: tool.name)
def test_every_pin_requires_the_version_of_its_entry(tool: catalogue.CatalogueTool) -> None:
    """Else the binary would be of another version than it is stamped with."""
    assert tool.build is not None
    module = go_sources.read(go_sources.lab_directory() / tool.build.directory)

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
        if tool.kind is catalogue.ToolKind.COMPONENT and tool.requirement is not None:
            assert tool.requirement.text == f"=={tool.version}"


def test_used_by_names_commands() -> None:
    known = COMMANDS_OF_THE_DESIGN | {"bench"} | {name for group in main.COMMANDS.values() for name in group}

    used_by = [tool.used_by for tool in catalogue.load().tools.values()]
    used_by += [content.used_by for content in catalogue.load().content.values()]
    for commands in used_by:
        assert commands
        assert set(commands) <= known


def test_sets_start_with_what_the_rest_needs() -> None:
    sets = catalogue.load().sets

    lab = {
        "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "lab-proxy", "lab-kubelet",
        "kubectl",
    }  # fmt: skip
    whole = lab | {"lab-machine", "talosctl"} | CONTENT_OF_TESTS
    assert set(sets["lab"]) == whole
    flux = {
        "source-controller", "kustomize-controller", "helm-controller", "source-watcher", "notification-controller",
        "flux-operator", "flux-operator-manifests",
    }  # fmt: skip
    assert set(sets["tests"]) == whole | flux | {
        "omnictl",
        "talosctl-1-13",
        "helm",
        "kustomize",
        "sops",
        "argocd",
        "lab-redis",
        "lab-guard",
    }
    assert set(sets["bench"]) == lab | {"helm"}
    for members in sets.values():
        assert members[:2] == ("etcd", "kube-apiserver")


def test_the_demo_has_what_it_asks_for_and_nothing_else() -> None:
    asked = {*lab_kit.needed(("flux",)), *demo.CHARTS}

    assert set(catalogue.load().members("demo")) == asked


def test_all_is_everything_that_can_be_installed() -> None:
    known = catalogue.load()

    assert set(known.members("all")) == set(known.names) - {"git", "op", "talhelper", "cilium"}


BUILT_BY_THE_LAB = {
    "github.com/fluxcd/source-controller": "source-controller",
    "github.com/fluxcd/kustomize-controller": "kustomize-controller",
    "github.com/fluxcd/helm-controller": "helm-controller",
    "github.com/fluxcd/source-watcher/v2": "source-watcher",
    "github.com/fluxcd/notification-controller": "notification-controller",
    "github.com/argoproj/argo-cd/v3": "argocd",
    "github.com/controlplaneio-fluxcd/flux-operator": "flux-operator",
}


def test_manifests_are_of_the_versions_that_the_lab_runs() -> None:
    """Else a Deployment would have an image of one version, and a program of another would run for it."""
    known = catalogue.load()
    modules = {module.path: module for entry in known.content.values() for module in entry.module}

    for path, name in BUILT_BY_THE_LAB.items():
        assert modules[path].version == f"v{known.get(name).version}"


def test_a_copy_is_of_the_module_that_its_pin_requires() -> None:
    copies = {tool.name: tool.build.copy for tool in catalogue.load().tools.values() if tool.build and tool.build.copy}

    for name, copy in copies.items():
        pin = go_sources.lab_directory() / "pins" / name
        go_mod = (pin / "go.mod").read_text()
        # What is required may be a commit that is not to be had; then the copy is of the release before it.
        assert re.search(
            rf"^\t{re.escape(copy.path)} {re.escape(copy.version.rpartition('.')[0])}\.", go_mod, re.MULTILINE
        )
        assert f"replace {copy.path} => ./{copy.to}\n" in go_mod
        assert (pin / copy.to).is_dir()
    assert set(copies) == {"flux-operator", "talosctl"}


def test_every_recipe_of_content_is_there_and_every_one_there_is_used() -> None:
    recipes = go_sources.lab_directory() / "content"

    assert {path.name for path in recipes.iterdir()} == {
        entry.recipe for entry in catalogue.load().content.values() if entry.recipe
    }


def test_kubernetes_is_stamped_with_its_version() -> None:
    known = catalogue.load()

    stamps = [catalogue.fill(stamp, known.get("kube-apiserver")) for stamp in known.stamps["kubernetes"]]

    assert "k8s.io/component-base/version.gitVersion=v1.36.4" in stamps
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
        (ENTRY + BUILD + '[tool.build.copy]\npath = "x"\nversion = "v1"\nsum = "y"\nto = "x"', "a hash as in go.sum"),
        (ENTRY + BUILD + '[tool.build.copy]\npath = "x"\ncolour = "red"', "unknown key 'colour'"),
        (ENTRY + BUILD + COPY.replace("TO", "../x"), "in a directory of the pin"),
        (ENTRY + BUILD.replace("pin", "source") + COPY.replace("TO", "x"), "belongs to a pin"),
        (ENTRY + '[tool.download]\nurl = "http://x/y"\n' + HASHED, "by https"),
        (ENTRY + '[tool.download]\nurl = "https://x/y"', "sha256"),
        (ENTRY + '[tool.download]\nurl = "https://x/y"\nsha256 = {}', "needs the hash of its file"),
        (ENTRY + '[tool.download]\nurl = "https://x/y"\nsha256 = {linux-amd64 = "abc"}', "not a SHA-256"),
        (ENTRY + '[tool.download]\nurl = "https://x/y"\n' + HASHED.replace("amd64", "vax"), "not a system"),
        (ENTRY + '[tool.download]\nurl = "https://x/y"\nchecksum = "https://x/z"', "unknown key 'checksum'"),
        (ENTRY + '[tool.download]\nurl = "https://x/y.tar.gz"\n' + HASHED, "belongs to an archive"),
        (ENTRY + '[tool.download]\nurl = "https://x/{colour}"\n' + HASHED, "colour"),
        (ENTRY + ENTRY, "twice"),
        ("[sets]\nlab = ['nothing']\n" + ENTRY, "unknown tools: nothing"),
        ("[sets]\nall = ['thing']\n" + ENTRY, "not for the catalogue to say"),
        ("[colours]\n" + ENTRY, "unknown table 'colours'"),
    ],
)
def test_refuses_a_catalogue_that_says(text: str, complaint: str) -> None:
    with pytest.raises(errors.ConfigError, match=complaint):
        catalogue.parse(text, path="catalogue.toml")
