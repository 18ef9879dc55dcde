"""Templates with what helmfile itself makes of them; None where it refuses."""

from pathlib import Path
from typing import Any

import yaml

_READ: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[3] / "scenarios" / "helmfile" / "templates.yaml").read_text()
)
VALUES: dict[str, Any] = _READ["values"]
CASES: list[tuple[str, str | None]] = [(each["template"], each["wanted"]) for each in _READ["cases"]]
