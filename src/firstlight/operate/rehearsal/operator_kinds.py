"""The CRDs that Cilium's operator carries in itself: out of the catalogue, where they lie beside its chart."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstlight.clients import safe_yaml

CONTENT = "cilium-chart-1-19"


def read(content: Path) -> tuple[Mapping[str, Any], ...]:
    """All of them."""
    return tuple(
        document
        for path in sorted((content / "crds").rglob("*.yaml"))
        for document in safe_yaml.load_all(path.read_bytes())
        if document
    )
