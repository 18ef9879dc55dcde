"""Templates of ApplicationSets; what is expected of numbers and names was printed by Go."""

from typing import Any

import pytest

from firstlight.repo.argocd import set_templates
from firstlight.repo.argocd.read_scope import GeneratorFailed
from firstlight.repo.argocd.set_templates import SetTemplates


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{name}}-{{ path[1] }}", "web-apps"),
        ("{{ unknown }}", "{{ unknown }}"),
        ("{{}} and {{ number }}", "{{}} and {{ number }}"),
        ("{{\nname\n}}", "{{\nname\n}}"),
        ("{{name", "{{name"),
        ("no braces", "no braces"),
        ("}}{{name}}", "}}web"),
    ],
)
def test_plain_templates_replace_texts_that_are_given(text: str, expected: str) -> None:
    assert SetTemplates().text(text, {"name": "web", "path[1]": "apps", "number": 3}) == expected


def test_a_plain_template_that_is_not_closed_is_refused() -> None:
    with pytest.raises(GeneratorFailed):
        SetTemplates().text("{{name}} {{ name", {"name": "web"})


def test_values_are_filled_in_with_their_names() -> None:
    value = {"{{k}}": ["{{v}}", {"x": None, "y": 3}]}

    assert SetTemplates().value(value, {"k": "key", "v": "value"}) == {"key": ["value", {"y": 3}]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ .path.basename }}", "web"),
        ("{{ index .path.segments 0 | upper | quote }}", '"APPS"'),
        ("{{ .missing }}", "<no value>"),
        ("{{ .name | normalize }}", "a-b.c"),
        ("{{ slugify 10 true .long }}", "one-two"),
        ("{{ slugify 10 false .long }}", "one-two-th"),
        ("{{ .long | slugify }}", "one-two-three-four"),
    ],
)
def test_go_templates(text: str, expected: str) -> None:
    params = {"path": {"basename": "web", "segments": ["apps", "web"]}, "name": "A_b.C.", "long": "one/two-three-four"}

    assert SetTemplates(is_go=True).text(text, params) == expected


def test_a_missing_key_is_an_error_if_that_is_wanted() -> None:
    with pytest.raises(GeneratorFailed, match="missing"):
        SetTemplates(is_go=True, options=["missingkey=error"]).text("{{ .missing }}", {})


def test_what_reads_the_environment_is_not_known() -> None:
    with pytest.raises(GeneratorFailed):
        SetTemplates(is_go=True).text('{{ env "HOME" }}', {})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (8080, "8080"),
        (100000, "100000"),
        (1000000, "1e+06"),
        (123456, "123456"),
        (1234567, "1.234567e+06"),
        (1.5, "1.5"),
        (-0.25, "-0.25"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (0, "0"),
        (1e21, "1e+21"),
        (True, "true"),
        (None, "<nil>"),
        ("text", "text"),
    ],
)
def test_numbers_are_printed_as_go_prints_them_after_json(value: Any, expected: str) -> None:
    assert set_templates.printed(value) == expected


def test_trees_are_flattened_with_dots() -> None:
    tree = {"a": {"b": [1, {"c": True}]}, "empty": {}, "none": None}

    assert set_templates.flattened(tree) == {"a.b.0": "1", "a.b.1.c": "true", "none": "<nil>"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Web_Front", "web-front"), ("-a-", "a"), ("ü", ""), ("a.b", "a.b"), ("x" * 300, "x" * 253)],
)
def test_names_are_made_fit_for_kubernetes(name: str, expected: str) -> None:
    assert set_templates.normalised(name) == expected
