"""A Go module with a chart and manifests in it, published in a directory that serves as a module proxy."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

PATH = "example.test/tiny"
VERSION = "v1.0.0"
ROOT = f"{PATH}@{VERSION}"

CRD = """---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    made-by: tiny
  name: {plural}.example.test
spec:
  group: example.test
  names:
    kind: {kind}
    plural: {plural}
    singular: {singular}
  scope: Namespaced
  versions:
    - name: v1
      schema:
        openAPIV3Schema:
          description: Not a template {{{{ .Values.x }}}}.
          type: object
      served: true
      storage: true
"""

FILES = {
    "go.mod": f"module {PATH}\n\ngo 1.21\n",
    "LICENSE": "Do what you like.\n",
    "NOTICE.txt": "Nothing to see.\n",
    "deploy/chart/Chart.template.yaml": "apiVersion: v2\nname: tiny\n# set at the release\nversion: v0.0.0\n"
    "annotations:\n  place: '{{FILL}}'\ndependencies:\n- name: other\n  version: 1.0.0\n\ndescription: tiny\n",
    "deploy/chart/values.yaml": "installCRDs: true\ncrds:\n  createBig: false\n",
    "deploy/chart/templates/one.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n",
    "deploy/chart/tests/none.yaml": "never: packed\n",
    "deploy/crds.yaml": CRD.format(kind="Big", plural="bigs", singular="big")
    + CRD.format(kind="Small", plural="smalls", singular="small"),
    "hack/run.sh": "#!/bin/sh\necho run\n",
    "main.go": "package main\n",
}

SUM = "h1:ILxT6I3kY7JxOMKKXqDi+HYWLVEGV1jxEzaTNO15VEg="
"""The hash of these files, as Go computes it."""

CONTENT = f"""
[[content]]
name = "tiny-chart"
summary = "a chart"
version = "1.0.0"
used_by = ["lab"]
[[content.module]]
path = "{PATH}"
version = "{VERSION}"
sum = "{SUM}"
omit = ["*.template.*", "tests/*"]
[content.module.take]
"deploy/chart" = "tiny"
"deploy/chart/Chart.template.yaml" = "tiny/Chart.yaml"
"deploy/crds.yaml" = "scratch/crds.yaml"
"hack/run.sh" = "bin/run.sh"
[content.crds]
bundle = "scratch/crds.yaml"
directory = "tiny/templates/crds"
guard = 'and .Values.installCRDs (dig "create{{kind}}" true .Values.crds)'
annotations = ".Values.crds.annotations"
[content.chart]
directory = "tiny"
version = "v1.0.0"
app_version = "v1.0.0"
drop = ["annotations", "dependencies"]
"""


def pack(path: Path, files: Mapping[str, str], *, root: str = ROOT) -> Path:
    """A module's archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in files.items():
            out.writestr(f"{root}/{name}", content)
    return path


def publish(proxy: Path, files: Mapping[str, str] = FILES, *, path: str = PATH, version: str = VERSION) -> str:
    """Publish a module below a directory; the URL to set GOPROXY to."""
    directory = proxy / path / "@v"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "list").write_text(f"{version}\n")
    (directory / f"{version}.info").write_text(json.dumps({"Version": version, "Time": "2024-01-01T00:00:00Z"}))
    (directory / f"{version}.mod").write_text(files["go.mod"])
    pack(directory / f"{version}.zip", files, root=f"{path}@{version}")
    return proxy.as_uri()
