"""Rendering 60 releases of 20 charts and 40 overlays: cold, warm and after one change, against helmfile and kustomize.

Benchmark 4. Times are of whole processes, so Python's start and the reading of the repo count. The peers render the
same charts with the same values and the same overlays; that they make as many objects is checked first.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench import measure
from firstlight.tools import install

ROUNDS = 3
CHARTS, RELEASES, OVERLAYS = 20, 60, 40
TEMPLATES = 5
"""Of each chart; each is one Deployment with what charts usually have in it."""
HASHES = (
    "import hashlib, pathlib, sys\n"
    "for path in sorted(pathlib.Path(sys.argv[1]).rglob('*')):\n"
    "    if path.is_file():\n"
    "        hashlib.sha256(path.read_bytes()).hexdigest()\n"
)
TEMPLATE = """
{{- if .Values.enabled }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-%d
  labels: {app.kubernetes.io/name: {{ .Chart.Name }}, app.kubernetes.io/instance: {{ .Release.Name }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}-%d}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}-%d}}
    spec:
      containers:
        - name: main
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
          env: {{- range $name, $value := .Values.env }}
            - {name: {{ $name }}, value: {{ $value | quote }}}
          {{- end }}
{{- end }}
"""


def run(programs: dict[str, Path]) -> list[str]:
    tools = asyncio.run(install.ensure(["helm", "kustomize", "helmfile"])) | programs
    with tempfile.TemporaryDirectory(prefix="firstlight-bench-") as made:
        return _run(Path(made), tools)


def _run(folder: Path, tools: dict[str, Path]) -> list[str]:
    root, peers = folder / "repo", folder / "peers"
    generate(root, peers)
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {
        **inherited, "PYTHONPYCACHEPREFIX": str(folder / "compiled"), "FIRSTLIGHT_HELM": str(tools["helm"]),
        "FIRSTLIGHT_KUSTOMIZE": str(tools["kustomize"]),
        "FIRSTLIGHT_CACHE": str(folder / "cache"), "HOME": str(folder), "HELM_PLUGINS": str(folder / "none"),
    }  # fmt: skip
    firstlight = [str(Path(sys.executable).parent / "firstlight"), "render", "--repo", str(root), "--offline"]
    helmfile = [str(tools["helmfile"]), "--helm-binary", str(tools["helm"]), "-f", str(peers / "helmfile.yaml")]
    loop = ["sh", "-c", 'ls -d "$1"/overlays/* | xargs -P2 -n1 "$2" build', "sh", str(root), str(tools["kustomize"])]
    plain = ["sh", "-c", 'cat "$1"/lines | xargs -P2 -L1 "$2" template', "sh", str(peers), str(tools["helm"])]
    changed = root / "releases/release-1.yaml"
    text = changed.read_text()

    def forget(_: int) -> None:
        shutil.rmtree(folder / "cache", ignore_errors=True)

    def change(number: int) -> None:
        changed.write_text(text.replace('"replicas":1', f'"replicas":{number + 5}'))

    contestants: dict[str, tuple[Sequence[str], Callable[[int], None] | None]] = {
        "cold": (firstlight, forget),
        "warm": (firstlight, None),
        "one change": (firstlight, change),
        "helmfile template": ([*helmfile, "template"], None),
        "helm template, two at once": (plain, None),
        "kustomize build, two at once": (loop, None),
        "sha256 of all files in Python": ([sys.executable, "-c", HASHES, str(root)], None),
    }
    counts = [
        _objects([*firstlight, "-o", "yaml"], environment),
        _objects(plain, environment) + _objects(loop, environment),
    ]
    assert counts[0] - _declared(root) == counts[1], counts
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(ROUNDS):
        for name, (command, before) in contestants.items():
            if before:
                before(number)
            times[name].append(_timed(command, environment))
            if name == "one change":
                changed.write_text(text)
                _timed(firstlight, environment)  # as it was, for the next one
    samples = {name: measure.Sample(name, tuple(seconds)) for name, seconds in times.items()}
    floor = [
        one + other
        for one, other in zip(times["helm template, two at once"], times["kustomize build, two at once"], strict=True)
    ]
    both = measure.Sample("helm and kustomize, both", tuple(floor))
    lines = [f"rendering {RELEASES} releases of {CHARTS} charts and {OVERLAYS} overlays, {ROUNDS} rounds"]
    lines += measure.table([*samples.values(), both], against="warm")
    for one, other in (
        (samples["cold"], both),
        (samples["cold"], samples["helmfile template"]),
        (samples["warm"], samples["helmfile template"]),
        (samples["one change"], both),
    ):
        middle, low, high = measure.ratio(one, other)
        lines.append(f"  {one.name} takes {middle:.2f} times as long as {other.name} ({low:.2f} to {high:.2f})")
    return lines


def generate(root: Path, peers: Path) -> None:
    """A repo of Flux, and a helmfile with the same releases."""
    system = {"namespace": "flux-system"}
    source = {"kind": "GitRepository", "name": "flux-system"}
    url = {"url": "https://git.example.org/me/fleet", "interval": "1m", "ref": {"branch": "main"}}
    releases, lines = [], []
    kustomizations = [_kustomization("flux-system", "clusters/one"), _kustomization("releases", "releases")]
    for number in range(CHARTS):
        _chart(root / f"charts/chart-{number}", number)
    for number in range(RELEASES):
        chart = f"charts/chart-{number % CHARTS}"
        values = {"replicas": number % 3 + 1, "env": {f"KEY_{n}": f"value {n} of {number}" for n in range(10)}}
        release = {
            "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
            "metadata": {"name": f"release-{number}", "namespace": "apps"},
            "spec": {"interval": "1h", "values": values, "chart": {"spec": {
                "chart": f"./{chart}", "sourceRef": {**source, **system}}}},
        }  # fmt: skip
        _write(root / f"releases/release-{number}.yaml", release)
        _write(peers / f"values/release-{number}.yaml", values)
        releases.append({
            "name": f"release-{number}", "namespace": "apps", "chart": str(root / chart),
            "values": [str(peers / f"values/release-{number}.yaml")],
        })  # fmt: skip
        lines.append(f"release-{number} {root / chart} -n apps -f {peers}/values/release-{number}.yaml")
    for number in range(OVERLAYS):
        _overlay(root, number)
        kustomizations.append(_kustomization(f"overlay-{number}", f"overlays/overlay-{number}"))
    repository = {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
                  "metadata": {"name": "flux-system", **system}, "spec": url}  # fmt: skip
    _write(root / "clusters/one/flux-system/gotk-sync.yaml", repository, kustomizations[0])
    _write(root / "clusters/one/all.yaml", *kustomizations[1:])
    (peers / "helmfile.yaml").write_bytes(b"releases: " + msgspec.json.encode(releases) + b"\n")  # no key in quotes
    (peers / "lines").write_text("\n".join(lines) + "\n")


def _kustomization(name: str, path: str) -> dict[str, Any]:
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": name, "namespace": "flux-system"},
        "spec": {"path": f"./{path}", "interval": "1h", "prune": True,
                 "sourceRef": {"kind": "GitRepository", "name": "flux-system"}},
    }  # fmt: skip


def _chart(directory: Path, number: int) -> None:
    _write(directory / "Chart.yaml", {"apiVersion": "v2", "name": f"chart-{number}", "version": f"1.{number}.0"})
    image = {"repository": "registry.example/main", "tag": "1"}
    _write(directory / "values.yaml", {"enabled": True, "replicas": 1, "image": image, "env": {}})
    for each in range(TEMPLATES):
        place = directory / f"templates/deployment-{each}.yaml"
        place.parent.mkdir(exist_ok=True)
        place.write_text(TEMPLATE % (each, each, each))


def _overlay(root: Path, number: int) -> None:
    base, own = root / f"bases/base-{number % 10}", root / f"overlays/overlay-{number}"
    names = [f"object-{n}" for n in range(10)]
    for name in names:
        _write(base / f"{name}.yaml", {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
            "data": {f"key-{n}": f"value {n}" for n in range(20)},
        })  # fmt: skip
    _write(base / "kustomization.yaml", {"resources": [f"{name}.yaml" for name in names]})
    patch = [{"op": "replace", "path": "/data/key-1", "value": f"of {number}"}]
    _write(own / "kustomization.yaml", {
        "resources": [f"../../bases/base-{number % 10}"], "namePrefix": f"o{number}-", "namespace": "apps",
        "labels": [{"pairs": {"overlay": str(number)}}],
        "patches": [{"target": {"kind": "ConfigMap"}, "patch": msgspec.json.encode(patch).decode()}],
    })  # fmt: skip


def _write(place: Path, *documents: dict[str, Any]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"\n---\n".join(msgspec.json.encode(each) for each in documents) + b"\n")


def _timed(command: Sequence[str], environment: dict[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begun


def _objects(command: Sequence[str], environment: dict[str, str]) -> int:
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return sum(line.startswith(b"kind:") for line in done.stdout.splitlines())


def _declared(root: Path) -> int:
    """Objects of Flux's own among those that Kustomizations apply."""
    return 2 + (root / "clusters/one/all.yaml").read_bytes().count(b'"kind":"Kustomization"') + RELEASES
