"""How long ``firstlight inventory`` takes for 5,000 YAML files, against PyYAML's C loader on the same bytes."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from bench import measure

ROUNDS = 5
APPS = 990
"""Five files each, and a few for the cluster: about 5,000."""
LOADER = (
    "import pathlib, sys, yaml\n"
    "for path in pathlib.Path(sys.argv[1]).rglob('*.yaml'):\n"
    "    list(yaml.load_all(path.read_bytes(), Loader=yaml.CSafeLoader))\n"
)


def run(programs: dict[str, Path]) -> list[str]:
    del programs
    with tempfile.TemporaryDirectory(prefix="firstlight-bench-") as made:
        root = Path(made) / "fleet"
        files, size = generate(root)
        firstlight = str(Path(sys.executable).parent / "firstlight")
        inventory = [firstlight, "inventory", "--repo", str(root), "--output", "json"]
        changed = root / "kubernetes/apps/ns-1/app-11/app/helmrelease.yaml"
        text = changed.read_text()

        def change(number: int) -> None:
            changed.write_text(text.replace("replicas: 2", f"replicas: {number + 3}"))

        contestants: dict[str, tuple[list[str], Callable[[int], None] | None]] = {
            "inventory": (inventory, None),
            "inventory after one change": (inventory, change),
            "PyYAML's C loader": ([sys.executable, "-c", LOADER, str(root)], None),
        }
        first = _timed(inventory)
        times: dict[str, list[float]] = {name: [] for name in contestants}
        for number in range(ROUNDS):
            for name in list(contestants) if number % 2 else list(contestants)[::-1]:
                command, before = contestants[name]
                if before:
                    before(number)
                times[name].append(_timed(command))
        samples = [measure.Sample(name, tuple(seconds)) for name, seconds in times.items()]
        return [
            f"reading a repo of {files} files, {size / 1e6:.1f} MB, {ROUNDS} rounds; the very first took {first:.1f} s",
            *measure.table(samples, against="inventory"),
        ]


def _timed(command: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def generate(root: Path, *, apps: int = APPS, more: Mapping[str, str] | None = None) -> tuple[int, int]:
    """A Flux repo as people have them, only larger: its files, and their bytes.

    Args:
        root: Where to write it.
        apps: How many apps it has.
        more: Further files of every app by their names, with ``{app}`` and ``{group}`` filled in; those in ``app/`` are
            resources of it.
    """
    resources = [each.removeprefix("app/") for each in more or () if each.startswith("app/")]
    written: dict[str, str] = {
        "kubernetes/flux/cluster/kustomization.yaml": "resources: [gotk-sync.yaml, apps.yaml, settings.yaml]\n",
        "kubernetes/flux/cluster/gotk-sync.yaml": SYNC,
        "kubernetes/flux/cluster/apps.yaml": APPS_KUSTOMIZATION,
        "kubernetes/flux/cluster/settings.yaml": SETTINGS,
        "kubernetes/apps/kustomization.yaml": "resources:\n"
        + "".join(f"  - ns-{group}\n" for group in range(apps // 10)),
    }
    for group in range(apps // 10):
        own = range(group * 10, group * 10 + 10)
        written[f"kubernetes/apps/ns-{group}/kustomization.yaml"] = "resources:\n" + "".join(
            f"  - app-{app}/ks.yaml\n" for app in own
        )
        for app in own:
            folder = f"kubernetes/apps/ns-{group}/app-{app}"
            needs = f"  dependsOn: [{{name: app-{app - 1}}}]\n" if app % 10 else ""
            for name, text in (APP | dict(more or {})).items():
                written[f"{folder}/{name}"] = text.format(app=app, group=group, needs=needs)
            written[f"{folder}/app/kustomization.yaml"] += "".join(f"  - {each}\n" for each in resources)
    for path, text in written.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return len(written), sum(len(text) for text in written.values())


SYNC = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1h, url: "https://git.example.org/fleet", ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: cluster, namespace: flux-system}
spec: {interval: 1h, path: ./kubernetes/flux/cluster, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
"""
APPS_KUSTOMIZATION = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  interval: 1h
  path: ./kubernetes/apps
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
  postBuild: {substituteFrom: [{kind: ConfigMap, name: settings}]}
"""
SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: flux-system}
data: {DOMAIN: example.org, CLUSTER: fleet}
"""
APP = {
    "ks.yaml": """\
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: app-{app}
  namespace: flux-system
spec:
{needs}  interval: 1h
  path: ./kubernetes/apps/ns-{group}/app-{app}/app
  prune: true
  targetNamespace: ns-{group}
  sourceRef:
    kind: GitRepository
    name: flux-system
  postBuild:
    substitute:
      APP: app-{app}
""",
    "app/kustomization.yaml": """\
---
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - helmrelease.yaml
  - ocirepository.yaml
  - externalsecret.yaml
""",
    "app/helmrelease.yaml": """\
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: app-{app}
spec:
  interval: 1h
  chartRef:
    kind: OCIRepository
    name: app-{app}
  install:
    remediation:
      retries: -1
  values:
    controllers:
      main:
        replicas: 2
        annotations:
          reloader.example.org/auto: "true"
        containers:
          app:
            image:
              repository: registry.example.org/apps/app-{app}
              tag: v1.{app}.0@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
            env:
              TZ: Etc/UTC
              PORT: &port 8080
              URL: https://${{APP}}.${{DOMAIN}}
            probes:
              liveness: &probe
                enabled: true
                custom: true
                spec:
                  httpGet: {{path: /health, port: *port}}
                  initialDelaySeconds: 0
                  periodSeconds: 10
              readiness: *probe
            resources:
              requests: {{cpu: 10m}}
              limits: {{memory: 256Mi}}
    service:
      app:
        ports:
          http: {{port: *port}}
""",
    "app/ocirepository.yaml": """\
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata:
  name: app-{app}
spec:
  interval: 1h
  layerSelector:
    mediaType: application/vnd.cncf.helm.chart.content.v1.tar+gzip
    operation: copy
  ref:
    tag: 4.{group}.0
  url: oci://registry.example.org/charts/app-template
""",
    "app/externalsecret.yaml": """\
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
  name: app-{app}
spec:
  secretStoreRef:
    kind: ClusterSecretStore
    name: vault
  target:
    name: app-{app}-secret
    template:
      data:
        TOKEN: "{{{{ .TOKEN }}}}"
  dataFrom:
    - extract:
        key: app-{app}
""",
}
