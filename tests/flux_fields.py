"""Write the fields of Flux's objects, from the CRDs in the Go modules of its controllers: ``make flux-fields``.

A field that any of the versions below knows is known. Where a version of an API is in none of them, the audit
is silent.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from firstlight.document import yaml_reader

MODULES = (
    "github.com/fluxcd/kustomize-controller@v1.9.1",
    "github.com/fluxcd/kustomize-controller@v1.10.1",
    "github.com/fluxcd/helm-controller@v1.6.4",
    "github.com/fluxcd/source-controller@v1.9.0",
    "github.com/fluxcd/source-controller@v1.10.1",
    "github.com/fluxcd/notification-controller@v1.5.0",
    "github.com/fluxcd/notification-controller@v1.9.3",
    "github.com/fluxcd/source-watcher/v2@v2.2.2",
    "github.com/controlplaneio-fluxcd/flux-operator@v0.59.0",
)
TABLE = pathlib.Path(__file__).parents[1] / "src/firstlight/commands/audit/flux_fields.json"


def main() -> None:
    """Write the table."""
    found: dict[str, Any] = {}
    for module in MODULES:
        for path in sorted((directory_of(module) / "config/crd/bases").glob("*.yaml")):
            for document in yaml_reader.read(path.read_bytes(), path.name).documents:
                for kind, fields in fields_of(document.value).items():
                    found[kind] = merged(found[kind], fields) if kind in found else fields
    lines = [f"{json.dumps(kind)}: {json.dumps(found[kind], separators=(',', ':'))}" for kind in sorted(found)]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def directory_of(module: str) -> pathlib.Path:
    """Return where Go has a module, which it downloads first."""
    with tempfile.TemporaryDirectory() as empty:
        command = ["go", "mod", "download", "-json", module]
        ran = subprocess.run(command, cwd=empty, check=False, capture_output=True, text=True)
    said = json.loads(ran.stdout)
    if "Dir" not in said:
        sys.exit(f"{module}: {said.get('Error')}")
    return pathlib.Path(said["Dir"])


def fields_of(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of spec by ``group/version/Kind``."""
    spec = definition["spec"]
    return {
        f"{spec['group']}/{version['name']}/{spec['names']['kind']}": schema_fields(
            version["schema"]["openAPIV3Schema"]["properties"].get("spec", {})
        )
        for version in spec["versions"]
    }


def schema_fields(schema: Mapping[str, Any]) -> Any:
    """Return the fields below a schema: a mapping of names, ``*`` for any name; None where anything goes."""
    if schema.get("type") == "array":
        return schema_fields(schema.get("items", {}))
    if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("type") != "object":
        return None
    properties = schema.get("properties")
    if properties:
        return {name: schema_fields(each) for name, each in sorted(properties.items())}
    below = schema.get("additionalProperties")
    return {"*": schema_fields(below)} if isinstance(below, Mapping) else None


def merged(one: Any, other: Any) -> Any:
    """Return what either of two versions knows."""
    if one is None or other is None:
        return None
    names = sorted({*one, *other})
    return {
        name: merged(one[name], other[name]) if name in one and name in other else one.get(name, other.get(name))
        for name in names
    }


if __name__ == "__main__":
    main()
