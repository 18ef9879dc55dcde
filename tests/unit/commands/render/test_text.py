"""Renditions as people and programs read them; Secrets are masked in every form."""

from typing import Any

import pytest

from firstlight.commands.render import text as render_text
from firstlight.commands.render.text import RenditionRow
from firstlight.document import yaml_reader
from firstlight.model.component import Component, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.rendition import Object, Rendition, VersionPin
from firstlight.model.source import ChartSource

PLACE = Place("apps/web.yaml", 3)


def secret(**fields: Any) -> Object:
    return Object({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **fields})


def row(
    *objects: Object, diagnostics: tuple[Diagnostic, ...] = (), name: str = "web", cached: bool = False
) -> RenditionRow:
    chart = ChartSource(name="web", repository="https://charts.example", version="1.x", release=name)
    origin = Origin(form=SourceForm.HELM_RELEASE, side=Side.GITOPS, place=PLACE, name=name, cluster="one", source=chart)
    component = Component(
        name=name, cluster="one", phase=Phase.GITOPS, side=Side.GITOPS, owner=Owner.GITOPS, why="", origins=(origin,)
    )
    pins = (VersionPin(source="https://charts.example web 1.x", version="1.4.0", digest="sha256:00"),)
    made = Rendition(
        component=name, cluster="one", side=Side.GITOPS, objects=objects, pins=pins, diagnostics=diagnostics
    )  # fmt: skip
    return RenditionRow(component, made, 0.25, cached)


CONFIG = Object({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"sha": "685e3"}})


class TestSecrets:
    @pytest.mark.parametrize(
        "obj",
        [
            secret(data={"a": "c4nary"}),
            secret(stringData={"a": "c4nary"}),
            secret(data="c4nary"),
            secret(stringData={"a": "c4nary"}, sops={"mac": "x"}),
            Object({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "c4nary"}}}),
        ],
    )  # fmt: skip
    def test_nothing_of_them_is_shown(self, obj: Object) -> None:
        shown = [render_text.yaml([obj]), repr(render_text.data(row(obj), with_objects=True)), repr(row(obj))]
        assert ["c4nary" in each for each in shown] == [False] * 3
        assert "name: s" in shown[0]

    def test_what_is_encrypted_or_empty_is_shown_as_it_is(self) -> None:
        obj = secret(stringData={"a": "ENC[AES256_GCM,data:x]", "b": ""}, sops={"mac": "y"})
        assert render_text.masked(obj) == obj.value


class TestForms:
    def test_yaml_is_read_back_as_it_was(self) -> None:
        text = render_text.yaml([CONFIG, CONFIG])
        assert "'685e3'" in text or '"685e3"' in text
        assert yaml_reader.load_all(text) == [CONFIG.value, CONFIG.value]

    def test_a_table_has_a_line_each(self) -> None:
        error = Diagnostic.error("?", "it does not render", at=PLACE)
        lines = render_text.rows([row(CONFIG), row(name="other", diagnostics=(error,), cached=True)], columns=120)
        assert lines[0].split() == ["component", "side", "objects", "time", "from"]
        assert lines[1].split() == ["web", "gitops", "1", "0.25", "s", "chart", "web", "1.4.0"]
        assert "0, not whole" in lines[2]
        assert "cached" in lines[2]

    def test_a_summary_counts_crds(self) -> None:
        crd = Object({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x"},
        })  # fmt: skip
        assert "2 objects, 1 of them CRDs" in render_text.summary(row(CONFIG, crd))
        assert "1 object " in render_text.summary(row(CONFIG))

    def test_control_characters_of_a_repo_are_not_obeyed(self) -> None:
        evil = Diagnostic.error("?", "b\x1b]0;x\x07", at=Place("a\x1b[2J.yaml"), fix="c\x1b[31m")
        lines = render_text.diagnostic_lines([evil])
        assert "\x1b" not in "".join(lines)

    def test_diagnostics_are_said_once_and_some_stand_for_many(self) -> None:
        diagnostics = [Diagnostic.error("?", "wrong", at=Place("a", n)) for n in range(15)]
        lines = render_text.diagnostic_lines([*diagnostics, *diagnostics], limit=10)
        assert lines[0] == "not rendered (15)"
        assert len(lines) == 12
        assert "5 more" in lines[-1]

    def test_a_hint_that_many_share_is_said_once(self) -> None:
        diagnostics = [
            Diagnostic.error("?", "wrong", at=Place("a", n), fix="do it" if n < 3 else "do that") for n in range(4)
        ]
        lines = render_text.diagnostic_lines(diagnostics)
        assert [line.strip() for line in lines if line.startswith("      ")] == ["do it", "do that"]
        assert lines.index("      do it") == 4

    def test_data_is_stable(self) -> None:
        assert render_text.data(row(CONFIG), with_objects=False) == {
            "component": "web", "cluster": "one", "side": "gitops", "from": "chart web 1.4.0",
            "pins": [{"source": "https://charts.example web 1.x", "version": "1.4.0", "digest": "sha256:00"}],
            "seconds": 0.25, "cached": False, "objects": 1, "crds": 0, "whole": True, "diagnostics": [],
        }  # fmt: skip
