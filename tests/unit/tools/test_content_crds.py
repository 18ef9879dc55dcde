from pathlib import Path

import pytest

from firstlight import errors
from firstlight.tools import content, content_entry
from tests.unit.tools import tiny_module

CRDS = content_entry.ContentCrds(
    "bundle.yaml", "chart/templates/crds", "and .Values.on .Values.create{kind}", ".Values.more"
)


def test_each_definition_becomes_a_template_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "bundle.yaml").write_text(tiny_module.FILES["deploy/crds.yaml"])

    written = content.write_crds(CRDS, root=tmp_path)

    assert [path.relative_to(tmp_path).as_posix() for path in written] == [
        "chart/templates/crds/big.yaml",
        "chart/templates/crds/small.yaml",
    ]
    lines = written[0].read_text().splitlines()
    assert lines[0] == "{{- if and .Values.on .Values.createBig }}"
    assert lines[-1] == "{{- end }}"
    assert lines[4:9] == [
        "  annotations:",
        "    {{- with .Values.more }}",
        "    {{- toYaml . | nindent 4 }}",
        "    {{- end }}",
        "    made-by: tiny",
    ]
    assert '          description: Not a template {{ "{{" }} .Values.x }}.' in lines, "what was no template stays none"


def test_a_bundle_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bundle.yaml").write_text("apiVersion: v1\nkind: ConfigMap\n")

    with pytest.raises(errors.ToolError, match="defines no kind"):
        content.write_crds(CRDS, root=tmp_path)
