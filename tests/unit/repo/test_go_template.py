"""Go's templates: rendered as Go does it, with what is not known kept apart."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.repo import go_template
from firstlight.repo.go_template import GoTemplateError, MissingKey, NotKnownBeforeRun, TemplateLimitExceeded, Unknown
from firstlight.repo.helmfile import rendered_files
from firstlight.repo.work_tree import WorkTree
from tests.unit.repo.helmfile.cases import CASES, VALUES


def shown(text: str, data: Any = None, **options: Any) -> str:
    return go_template.render(text, {} if data is None else data, **options)


@pytest.mark.parametrize(("template", "wanted"), CASES, ids=[template[:60] for template, _ in CASES])
def test_renders_what_go_renders_and_refuses_what_go_refuses(template: str, wanted: str | None, tmp_path: Any) -> None:
    data = {"Values": VALUES, "StateValues": VALUES, "Environment": {"Name": "default"}}
    known = rendered_files.functions_of(WorkTree(tmp_path), ".")

    if wanted is None:
        with pytest.raises(GoTemplateError):
            go_template.render(template, data, functions=known, missing_key=MissingKey.ERROR)
    else:
        assert go_template.render(template, data, functions=known, missing_key=MissingKey.ERROR) == wanted


def test_a_missing_key_is_no_value_by_default_also_below_it() -> None:
    assert shown("{{ .a }} {{ .a.b.c }}") == "<no value> <no value>"


def test_a_missing_key_is_nil_with_zero_so_that_nothing_can_be_below_it() -> None:
    assert shown("{{ .a }}", missing_key=MissingKey.ZERO) == "<no value>"
    with pytest.raises(GoTemplateError, match="nothing has no field b"):
        shown("{{ .a.b }}", missing_key=MissingKey.ZERO)


def test_a_missing_key_is_an_error_with_error_and_names_the_field_and_line() -> None:
    with pytest.raises(GoTemplateError) as caught:
        shown("x\n{{ .a.b }}", {"a": {}}, missing_key=MissingKey.ERROR)

    assert (caught.value.line, caught.value.name) == (2, ".a.b")
    assert 'no entry for key "b"' in caught.value.reason


def test_options_are_taken_by_their_names() -> None:
    assert shown("{{ .a }}", missing_key="zero") == "<no value>"


def test_missing_variables_of_scripts_are_not_known_but_have_defaults() -> None:
    rendered = go_template.render_leniently(
        '{{.A}} {{.A | default "x"}} {{if .A}}a{{else}}b{{end}} {{if eq .A "i"}}c{{else}}d{{end}}',
        {},
        missing_key=MissingKey.UNKNOWN,
    )

    assert go_template.restore(rendered.text, rendered.unknowns) == "{{.A}} x b c"
    assert [each.name for each in rendered.unknowns] == [".A", ".A"]


def test_functions_that_ask_the_world_are_not_known_unless_given() -> None:
    with pytest.raises(NotKnownBeforeRun) as caught:
        shown('{{ env "HOME" }}')

    assert caught.value.name == "env"
    assert shown('{{ env "HOME" }}', functions={"env": lambda name: f"<{name}>"}) == "<HOME>"


def test_a_function_that_breaks_is_an_error_of_the_template() -> None:
    with pytest.raises(GoTemplateError, match="f cannot take its arguments"):
        shown("{{ f 1 }}", functions={"f": lambda: 1})


def test_values_that_are_not_known_are_not_touched() -> None:
    data = {"secret": Unknown("", "it is encrypted"), "name": "x"}

    assert shown("{{ .name }}", data) == "x"
    for template in ("{{ .secret }}", "{{ .secret.inner }}", "{{ upper .secret }}", "{{ if .secret }}a{{ end }}"):
        with pytest.raises(NotKnownBeforeRun, match="it is encrypted"):
            shown(template, data)


def test_a_lenient_rendering_marks_values_and_takes_conditions_for_true() -> None:
    text = 'version: v{{ env "V" }}\n{{ if env "X" }}a: {{ .a }}{{ else }}b: 2{{ end }}\nc: {{ .a }}\n'

    rendered = go_template.render_leniently(text, {"a": 1})

    assert [line for line in rendered.text.split("\n")[1:]] == ["a: 1", "c: 1", ""]
    assert go_template.settle({"version": rendered.text.split("\n")[0][9:]}, rendered.unknowns) == {
        "version": Unknown('v{{ env "V" }}', 'function "env" is not known to reading alone', 1, "env")
    }
    assert [(each.text, each.line) for each in rendered.unknowns] == [('{{ env "V" }}', 1), ('{{ if env "X" }}', 2)]


def test_a_lenient_loop_over_what_is_not_known_is_walked_once() -> None:
    rendered = go_template.render_leniently("{{ range $k, $v := env }}- {{ $k }}{{ .x }}\n{{ end }}", {})

    assert rendered.text.count("- ") == 1
    assert len(rendered.unknowns) == 3


def test_a_variable_that_is_not_known_stays_so() -> None:
    rendered = go_template.render_leniently('{{ $x := exec "ls" }}{{ $x }} {{ upper $x }}', {})

    assert go_template.restore(rendered.text, rendered.unknowns) == "{{ $x }} {{ upper $x }}"


def test_marks_of_a_text_are_never_its_own() -> None:
    rendered = go_template.render_leniently("a \ue0f00\ue0f1 b", {})

    assert rendered.text == "a 0 b"


def test_marks_survive_in_keys_and_lists() -> None:
    rendered = go_template.render_leniently("{{ env 1 }}", {})
    mark = rendered.text

    settled = go_template.settle({f"k{mark}": [mark, "plain", 3]}, rendered.unknowns)

    assert settled == {"k{{ env 1 }}": [rendered.unknowns[0], "plain", 3]}


def test_every_line_knows_where_it_was_written() -> None:
    text = "a\n{{- if .x }}\nb\n{{- end }}\n{{ range .l }}\n- {{ . }}\n{{- end }}\nc: {{ toYaml .l | nindent 2 }}\nd\n"

    rendered = go_template.render_leniently(text, {"x": 1, "l": ["p", "q"]})

    found = {line: rendered.line(n) for n, line in enumerate(rendered.text.split("\n"), 1) if line.strip()}
    assert found == {"a": 1, "b": 3, "- p": 6, "- q": 6, "c: ": 8, "  - p": 8, "  - q": 8, "d": 9}


def test_data_is_not_changed_by_functions_that_change_maps() -> None:
    data = {"m": {"a": 1}}

    assert shown('{{ $_ := set .m "b" 2 }}{{ .m }}', data) == "map[a:1 b:2]"
    assert data == {"m": {"a": 1}}


def test_definitions_of_other_texts_can_be_used() -> None:
    assert shown('{{ include "x" . }}', "v", definitions=['{{ define "x" }}<{{ . }}>{{ end }}']) == "<v>"


def test_other_braces() -> None:
    assert shown("[[ .a ]] {{ .a }}", {"a": 1}, braces=("[[", "]]")) == "1 {{ .a }}"


def test_braces_inside_of_strings_close_nothing() -> None:
    assert shown('{{ "}}" }}{{ `}}` }}') == "}}}}"


@pytest.mark.parametrize(
    "text",
    [
        "{{ range 100000000 }}x{{ end }}",
        '{{ $x := "aaaaaaaa" }}{{ range 100 }}{{ $x = print $x $x }}{{ end }}',
        '{{ $x := "aaaaaaaa" }}{{ range 100 }}{{ $x = printf "%s%s" $x $x }}{{ end }}',
        "{{ $x := list 1 }}{{ range 100 }}{{ $x = list $x $x }}{{ end }}{{ $x }}",
        "{{ $x := list 1 }}{{ range 100 }}{{ $x = concat $x $x }}{{ end }}",
        '{{ $x := dict }}{{ $_ := set $x "x" $x }}{{ toYaml $x }}',
        '{{ define "x" }}{{ template "x" }}{{ end }}{{ template "x" }}',
        '{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}',
        '{{ repeat 1000000000 "x" }}',
        '{{ $x := repeat 3000000 "a" }}{{ replace "a" "bbbb" $x }}',
        '{{ indent 100000000 "a" }}',
        "{{ until 100000000 }}",
        "{{ range 1000 }}{{ range 1000 }}{{ range 1000 }}{{ end }}{{ end }}{{ end }}",
        '{{ tpl (repeat 5000 "{{ tpl `x` . }}") . }}' + "x" * 1_000_000,
    ],
)
def test_templates_that_would_never_end_are_given_up_soon(text: str) -> None:
    start = time.process_time()

    with pytest.raises(TemplateLimitExceeded):
        go_template.render_leniently(text, {})

    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    "text",
    [
        "{{ " + "(" * 1000 + "1" + ")" * 1000 + " }}",
        "{{ if 1 }}" * 1000,
        "{{ " + '"a" ' * 200_000,
        "{{ " + "." * 200_000 + " }}",
        "{{" * 100_000,
        '{{ printf "%999999999d" 1 }}',
        "{{ " + "9" * 100_000 + " }}",
    ],
)
def test_templates_that_are_wrong_are_refused_soon(text: str) -> None:
    start = time.process_time()

    with pytest.raises(GoTemplateError):
        go_template.render(text, {})

    assert time.process_time() - start < 10


PIECES = """{{ }} {{- -}} if range end else .a $x := | ( ) " ` ' {{if define}} {{/* */}} {{end}}""".replace(
    " ", "\n"
).splitlines()
WHOLE = [
    "{{ if .a }}",
    "{{ end }}",
    "{{ range .l }}",
    "{{ .a.b }}",
    "{{ upper .a }}",
    "{{ $x := 1 }}",
    "{{ else }}",
    " ",
]
TEMPLATES = st.lists(st.one_of(st.text(max_size=10), st.sampled_from(PIECES + WHOLE)), max_size=30).map("".join)


@given(TEMPLATES)
def test_any_text_is_rendered_or_refused(text: str) -> None:
    try:
        rendered = go_template.render_leniently(text, {"a": "x", "l": [1, 2]})
    except GoTemplateError:
        return
    assert len(rendered.lines) >= rendered.text.rstrip("\n").count("\n")


@given(st.text().filter(lambda text: "{{" not in text))
def test_a_text_without_braces_stays_as_it_is(text: str) -> None:
    assert go_template.render(text, {}) == text


@given(
    st.one_of(st.integers(-(2**53), 2**53), st.booleans(), st.text(), st.floats(allow_nan=False, allow_infinity=False))
)
def test_json_gives_back_what_it_was_given(value: Any) -> None:
    assert go_template.render("{{ deepEqual (fromJson (toJson .)) . }}", value) in ("true", "false")
    again = go_template.render("{{ toJson (fromJson (toJson .)) }}", value)
    assert again == go_template.render("{{ toJson . }}", value)


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.text(st.characters(codec="utf-8", exclude_categories=["C"])),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text("aynN01:- é", max_size=3), inner)),
    max_leaves=10,
)


@given(TREES)
def test_yaml_gives_back_what_it_was_given(value: Any) -> None:
    """What toYaml writes is read back as the same, also a lone y or n, which are booleans to some."""
    wrapped = {"v": value}
    again = go_template.render("{{ toJson (fromYaml (toYaml .)) }}", wrapped)
    assert again == go_template.render("{{ toJson . }}", wrapped)
