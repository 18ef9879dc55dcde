"""minijinja templates: rendered if they are tame and known, else read line by line; hostile ones end in an error."""

import time
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies

from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place
from firstlight.repo.go_template import unknown_values
from firstlight.repo.talos import config_files, machine_templates
from firstlight.repo.talos.machine_templates import JinjaSettings
from firstlight.repo.talos.template_tags import JinjaError, JinjaSyntax
from firstlight.repo.work_tree import WorkTree

KNOWN = JinjaSettings(autoescape="none", variables={"name": "apple", "pods": ["10.1.0.0/16"], "yes": True})


def lines(text: str, given: JinjaSettings = KNOWN) -> str:
    found = machine_templates.read_jinja(text, given).skeleton
    return unknown_values.restore(found.text, found.unknowns)


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("a: {{ name }}\n", "a: apple\n"),
        ("a: {{ name|upper }}\n", "a: APPLE\n"),
        ("a: {{ missing|default('b') if false else name }}\n", None),
        ("{% for pod in pods %}- {{ pod }}\n{% endfor %}", "- 10.1.0.0/16\n"),
        ("{% if name == 'apple' and not (name == 'pear') %}a{% else %}b{% endif %}\n", "a\n"),
        ("{% raw %}{{ name }}{% endraw %}\n", "{{ name }}\n"),
        ("{# {{ missing }} #}a\n", "a\n"),
        ("{{ '{{' }}\n", "{{\n"),
    ],
)
def test_a_template_is_rendered_if_all_of_it_is_known(text: str, rendered: str | None) -> None:
    assert machine_templates.read_jinja(text, KNOWN).rendered == rendered


def test_values_are_escaped_as_the_settings_say() -> None:
    """minijinja-cli writes JSON into .yaml files unless it is told otherwise."""
    text = "a: {{ name }}\n"

    assert machine_templates.read_jinja(text, JinjaSettings(variables={"name": "apple"})).rendered == 'a: "apple"\n'


def test_names_are_told_with_their_lines() -> None:
    found = machine_templates.read_jinja(
        "{{ a.b }}\n{% if c is defined and 'd' in e %}{{ f(g=h)|i }}{% endif %}\n"
        "{% for j in k %}{{ j.l }}{{ loop.index }}{% endfor %}{% set m = n %}{{ m }}\n{{ a.b }}",
        KNOWN,
    )

    assert dict(found.missing) == {"a.b": (1, 4), "c": (2,), "e": (2,), "f": (2,), "h": (2,), "k": (3,), "n": (3,)}
    assert found.rendered is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: {{ name }}-{{ x }}\n", "a: apple-{{ x }}\n"),
        ("{% if x %}\na: 1\n{% else %}\nb: 2\n{% endif %}\nc: 3\n", "\na: 1\n\n\n\nc: 3\n"),
        ("{% if yes %}\na: 1\n{% elif x %}\nb: 2\n{% endif %}\n", "\na: 1\n\n\n\n"),
        ("{% if not yes %}\na: 1\n{% elif x %}\nb: 2\n{% else %}\nc: 3\n{% endif %}\n", "\n\n\nb: 2\n\n\n\n"),
        ("{% for x in y %}\n- {{ x }}\n{% endfor %}\n", "\n- {{ x }}\n\n"),
        ("{% macro m(a) %}\nhidden\n{% endmacro %}\n", "\n\n\n"),
        ("{% set s %}\nhidden\n{% endset %}{% set t = 1 %}\n", "\n\n\n"),
        ("a: {% if x %}1{% else %}2{% endif %}\n", "a: 1\n"),
        ("a: {{ x\n  + y }}\nb: 1\n", "a: {{ x + y }}\n\nb: 1\n"),
    ],
)
def test_what_is_not_known_leaves_every_line_where_it_is(text: str, expected: str) -> None:
    assert lines(text) == expected


def test_a_part_of_a_value_under_a_condition_is_not_known() -> None:
    found = machine_templates.read_jinja("a: {% if x %}1{% else %}2{% endif %}\n", KNOWN).skeleton

    assert unknown_values.has_mark(found.text)


def test_lines_under_a_condition_are_told() -> None:
    found = machine_templates.read_jinja(
        "a: 1\n{% if x %}\nb: 2\n{% endif %}\n{% if yes %}\nc: 3\n{% endif %}\n", KNOWN
    ).skeleton

    assert 3 in found.conditional
    assert not {1, 6} & found.conditional


def test_the_syntax_is_the_repos_own() -> None:
    given = JinjaSettings(
        syntax=JinjaSyntax("<%", "%>", "[[", "]]", "<#", "#>", "#%", "##"), variables={"name": "apple"}
    )

    assert lines("a: [[ name ]]{{ b }}\n#% if x:\nc: 1\n#% endif\n## gone [[ d ]]\n<# e #>\n", given) == (
        "a: apple{{ b }}\n\nc: 1\n\n\n\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "{{ 'a' * 999999999 }}",
        "{{ [name] * 999999999 }}",
        "{{ name|indent(999999999) }}",
        "{{ name|replace('a', 'aa') }}",
        "{{ name ~ name }}",
        "{{ range(99999999) }}",
        "{{ name.upper() }}",
        "{% set a = name %}{{ a }}",
        "{% include 'other' %}",
        "{% macro a() %}{{ a() }}{% endmacro %}",
        "{{ " + "not " * 20_000 + "name }}",
        "{{ " + "(" * 20_000 + "name" + ")" * 20_000 + " }}",
        "{% for a in pods %}" * 30 + "x" * 1000 + "{% endfor %}" * 30,
    ],
)
def test_what_could_fill_the_memory_does_not_reach_minijinja(text: str) -> None:
    found = machine_templates.read_jinja(text, KNOWN)

    assert found.rendered is None or len(found.rendered) < machine_templates.OUTPUT


@pytest.mark.parametrize(
    "text",
    [
        "{{ a",
        "{% if x",
        "{# a",
        "{{ 'a }}",
        "{% if x %}" * 100 + "{% endif %}" * 100,
        "a" * (machine_templates.JINJA_SIZE + 1),
        "{{ '" + "\\'" * 100_000,
        '{{ "' * 100_000,
    ],
)
def test_what_is_no_template_is_an_error_in_time(text: str) -> None:
    began = time.process_time()

    with pytest.raises(JinjaError):
        machine_templates.read_jinja(text, KNOWN)

    assert time.process_time() - began < 5


def test_a_loop_that_grows_too_large_is_not_rendered() -> None:
    given = JinjaSettings(autoescape="none", variables={"many": list(range(10_000))})

    found = machine_templates.read_jinja(
        "{% for a in many %}{% for b in many %}" + "x" * 1000 + "{% endfor %}{% endfor %}", given
    )

    assert found.rendered is None
    assert "minijinja refuses it" in found.reason


@hypothesis.given(strategies.text("ab{}%#-'\"\n =|.if enor", max_size=80))
def test_any_text_keeps_its_lines_or_is_refused(text: str) -> None:
    try:
        found = machine_templates.read_jinja(text, KNOWN)
    except JinjaError:
        return
    assert found.skeleton.text.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("toml", "code", "line"),
    [
        ("trim-blocks = = true", "toml-wrong", 1),
        ('[syntax]\nblock-start = ""', "minijinja-settings-wrong", 0),
        ('[syntax]\nblock-start = "{{"', "minijinja-settings-wrong", 0),
    ],
)
def test_broken_settings_are_an_error(tmp_path: Path, toml: str, code: str, line: int) -> None:
    (tmp_path / ".minijinja.toml").write_text(toml)
    (tmp_path / "a.yaml.j2").write_text("machine: {}\n")

    found = config_files.read_talos_file(WorkTree(tmp_path), "a.yaml.j2")

    (diagnostic,) = found.diagnostics
    assert (diagnostic.code, diagnostic.severity) == (code, Severity.ERROR)
    assert diagnostic.place == Place(".minijinja.toml", line)
    assert [each.value for each in found.documents] == [{"machine": {}}]


def test_the_nearest_settings_count(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / ".minijinja.toml").write_text('defines = {name = "far"}')
    (tmp_path / "a" / ".minijinja.toml").write_text('autoescape = "none"\ndefines = {name = "near"}')
    (tmp_path / "a" / "b" / "c.yaml.j2").write_text("machine: {type: {{ name }}}\n")
    (tmp_path / "d.yaml.j2").write_text("machine: {type: {{ name }}}\n")
    tree = WorkTree(tmp_path)

    assert config_files.read_talos_file(tree, "a/b/c.yaml.j2").documents[0].value == {"machine": {"type": "near"}}
    assert config_files.read_talos_file(tree, "d.yaml.j2").documents[0].value == {"machine": {"type": "far"}}
