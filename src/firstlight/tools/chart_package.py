"""Helm charts out of source trees: what a release fills in, and the package that it publishes.

The package is made here and not by helm, so that the same chart is the same bytes wherever it is packed.
"""

import gzip
import io
import re
import tarfile
from pathlib import Path

from firstlight import errors
from firstlight.tools import content_entry

_METADATA = "Chart.yaml"


def fill_chart(directory: Path, chart: content_entry.ContentChart) -> None:
    """Set the versions in Chart.yaml, and remove what is to be dropped.

    Raises:
        errors.ToolError: There is no such chart.
    """
    path = directory / _METADATA
    try:
        text = path.read_text()
    except OSError as error:
        raise errors.ToolError(f"{directory.name} is not a chart: {error}") from error
    for key in chart.drop:
        text = _replace(text, key, "")
    if chart.version:
        text = _replace(text, "version", f'version: "{chart.version}"')
    if chart.app_version:
        text = _replace(text, "appVersion", f'appVersion: "{chart.app_version}"')
    path.write_text(text)


def pack_chart(directory: Path) -> Path:
    """Pack a chart beside itself, as ``<name>-<version>.tgz``.

    Raises:
        errors.ToolError: It does not say its name and version.
    """
    metadata = (directory / _METADATA).read_text()
    name, version = (_value(metadata, key) for key in ("name", "version"))
    if not name or not version or name != directory.name:
        raise errors.ToolError(f"{directory.name}/{_METADATA} is of the chart {name!r} in version {version!r}")
    # Chart.yaml first, as helm does it: who only wants to know what a package is need not read on.
    files = [path for path in directory.rglob("*") if path.is_file()]
    files.sort(key=lambda path: (path != directory / _METADATA, path))
    package = directory.with_name(f"{name}-{version}.tgz")
    with (
        package.open("xb") as out,
        gzip.GzipFile("", "wb", fileobj=out, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in files:
            _add(tar, path, name=f"{name}/{path.relative_to(directory).as_posix()}")
    return package


def _add(tar: tarfile.TarFile, path: Path, *, name: str) -> None:
    content = path.read_bytes()
    info = tarfile.TarInfo(name)
    info.size = len(content)
    info.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
    tar.addfile(info, io.BytesIO(content))


def _replace(text: str, key: str, by: str) -> str:
    """Replace a key at the top of a YAML file with all that belongs to it; comments and the rest stay."""
    lines: list[str] = []
    inside = found = False
    for line in text.splitlines():
        if line[:1].isalpha() or line.startswith("#"):
            inside = line.startswith(f"{key}:")
            if inside and by:
                lines.append(by)
            found = found or inside
        if not inside:
            lines.append(line)
    if by and not found:
        lines.append(by)
    return "\n".join(lines) + "\n"


def _value(text: str, key: str) -> str:
    match = re.search(rf"^{key}:\s*[\"']?([0-9A-Za-z.+-]+)[\"']?\s*(?:#.*)?$", text, re.MULTILINE)
    return match[1] if match else ""


# CustomResourceDefinitions as templates of a chart, for charts whose releases make them so.


def write_crds(crds: content_entry.ContentCrds, *, root: Path) -> list[Path]:
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


def _template(document: str, crds: content_entry.ContentCrds, *, kind: str) -> str:
    # What looks like a template in a description is none.
    text = document.strip("\n").replace("{{", '{{ "{{" }}')
    if crds.annotations:
        more = f"    {{{{- with {crds.annotations} }}}}\n    {{{{- toYaml . | nindent 4 }}}}\n    {{{{- end }}}}"
        text = re.sub(r"^  annotations:$", lambda match: f"{match[0]}\n{more}", text, count=1, flags=re.MULTILINE)
    return f"{{{{- if {crds.guard.replace('{kind}', kind)} }}}}\n{text}\n{{{{- end }}}}\n"


def _find(key: str, names: str) -> str:
    match = re.search(rf"^    {key}: ([0-9A-Za-z]+)$", names, re.MULTILINE)
    return match[1] if match else ""
