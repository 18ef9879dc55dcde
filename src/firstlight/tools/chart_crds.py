"""CustomResourceDefinitions as templates of a chart, for charts whose releases make them so."""

import re
from pathlib import Path

from firstlight import errors
from firstlight.tools import content_entry


def write(crds: content_entry.Crds, *, root: Path) -> list[Path]:
    """Write a template for each definition of the bundle; the files that were written.

    Raises:
        errors.ToolError: The bundle has something else in it.
    """
    directory = root / crds.directory
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for document in re.split(r"^---[^\n]*\n", (root / crds.bundle).read_text(), flags=re.MULTILINE):
        if not document.strip():
            continue
        names = re.search(r"^  names:\n((?: {4,}.*\n)+)", document, re.MULTILINE)
        kind, singular = (_find(key, names[1]) if names else "" for key in ("kind", "singular"))
        if not kind or not singular:
            raise errors.ToolError(f"{crds.bundle} has a document that defines no kind")
        path = directory / f"{singular}.yaml"
        path.write_text(_template(document, crds, kind=kind))
        written.append(path)
    return written


def _template(document: str, crds: content_entry.Crds, *, kind: str) -> str:
    # What looks like a template in a description is none.
    text = document.strip("\n").replace("{{", '{{ "{{" }}')
    if crds.annotations:
        more = f"    {{{{- with {crds.annotations} }}}}\n    {{{{- toYaml . | nindent 4 }}}}\n    {{{{- end }}}}"
        text = re.sub(r"^  annotations:$", lambda match: f"{match[0]}\n{more}", text, count=1, flags=re.MULTILINE)
    return f"{{{{- if {crds.guard.replace('{kind}', kind)} }}}}\n{text}\n{{{{- end }}}}\n"


def _find(key: str, names: str) -> str:
    match = re.search(rf"^    {key}: ([0-9A-Za-z]+)$", names, re.MULTILINE)
    return match[1] if match else ""
