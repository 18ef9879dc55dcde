"""Scripts that are broken, or written to do harm: diagnostics, and bounded time."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.repo import scripts
from tests.unit.repo.scripts import repos

TEN = "a b c d e f g h i j"
LOOPS = "".join(f"for x{n} in {TEN}; do " for n in range(8)) + "y=$x0; " + "done; " * 8
DOUBLING = "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; }}\n" for n in range(60)) + "f60() { helm install x ./c; }\nf0\n"
NESTED = "".join(f"f{n}() {{ {'( ' * 90}f{n + 1}{' )' * 90}; }}\n" for n in range(60)) + "f0\n"
GROWING = (
    "x=aaaaaaaaaa\n"
    + "x=$x$x$x$x\n" * 60
    + "a=(b)\n"
    + 'a=("${a[@]}" "${a[@]}" "${a[@]}")\n' * 60
    + "helm install $x ${a[@]}\n"
)
HARM = {
    "loops": {"bootstrap.sh": LOOPS},
    "doubling": {"bootstrap.sh": DOUBLING},
    "nested": {"bootstrap.sh": NESTED},
    "growing": {"bootstrap.sh": GROWING},
    "substitutions": {"bootstrap.sh": "x=" + "$(echo " * 300 + ")" * 300},
    "heredocs": {"bootstrap.sh": "kubectl apply -f - <<EOF\n" + "a: &a [*a, *a]\n" * 2000 + "EOF\n"},
    "long": {"bootstrap.sh": "helm install a ./b\n" * 40_000},
    "paths": {
        "bootstrap.sh": "".join(f"kubectl apply -f $X/a/{n % 50}/f.yaml\n" for n in range(3000)),
        **{f"d{n}/a/{n % 50}/f.yaml": "kind: A\n" for n in range(300)},
    },
    "tasks": {
        "Taskfile.yml": "version: '3'\ntasks:\n  bootstrap: [{task: a, vars: {X: x}}]\n"
        "  a: [{task: b, vars: {X: '{{.X}}1'}}, {task: b, vars: {X: '{{.X}}2'}}]\n"
        "  b: [{task: a, vars: {X: '{{.X}}3'}}, {task: a, vars: {X: '{{.X}}4'}}]\n"
    },
    "templates": {
        "Taskfile.yml": "version: '3'\nvars: {X: '{{ range until 99999999 }}x{{ end }}'}\ntasks: {up: 'echo {{.X}}'}\n"
    },
    "includes": {
        f"d{n}/Taskfile.yml": "version: '3'\nincludes:\n" + "".join(f"  i{m}: ../d{m}\n" for m in range(10) if m != n)
        for n in range(10)
    },
    "modules": {f"m{n}.just": "".join(f"mod a{m} 'm{m}.just'\n" for m in range(10) if m != n) for n in range(10)}
    | {"justfile": "mod m0\n"},
    "make": {"Makefile": "A = $(B)$(B)\nB = $(A)$(A)\nbootstrap:\n" + "\thelm install $(A) $(B)\n" * 100},
    "just": {"justfile": "x := " + "(" * 5000 + "'a'" + ")" * 5000 + "\nbootstrap:\n    helm install {{ x }}\n"},
    "toml": {"mise.toml": "[tasks.bootstrap]\nrun = " + "[" * 5000 + "]" * 5000},
}


@pytest.mark.parametrize("name", HARM)
def test_harm_is_bounded(name: str, tmp_path: Path) -> None:
    tree = repos.write(tmp_path, HARM[name])
    start = time.process_time()

    found = scripts.read(tree)

    assert time.process_time() - start < 20
    assert all("\n" not in each.message for each in found.diagnostics)


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    wanted = {"doubling": "script-too-long", "nested": "script-too-deep", "long": "script-too-long",
              "tasks": "script-too-deep"}  # fmt: skip
    for name, code in wanted.items():
        found = scripts.read(repos.write(tmp_path / name, HARM[name]))
        assert code in {each.code for each in found.diagnostics}, name


PIECES = st.sampled_from(
    ["kubectl apply -f ", "helm upgrade --install ", "- ", "helmfile -f x sync", "task ", "just ", "$X", "${Y:-z}",
     "$(", ")", "'", '"', "`", "\n", "\n\t", "\n    ", "\\\n", " | ", " && ", ";", "<<EOF\n", "EOF\n", "{{", "}}",
     "{{.X}}", "bootstrap:", "bootstrap() {", "}", "for x in a b; do ", "done", "if ", "then", "fi", "case ", "esac",
     ":=", "=", "mod ", "include ", "version: '3'\n", "tasks:\n", "  bootstrap:\n", "cmds:", "a", "/", ".yaml",
     "--set ", "-n ", "#", "[", "]", "(", "{"]
)  # fmt: skip
NAMES = st.sampled_from(["bootstrap.sh", "Taskfile.yml", "justfile", "Makefile", ".mise.toml"])


@settings(max_examples=150)
@given(NAMES, st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=40).map("".join))
def test_any_text_is_read_or_diagnosticed(tmp_path_factory: pytest.TempPathFactory, name: str, text: str) -> None:
    found = scripts.read(repos.write(tmp_path_factory.mktemp("repo"), {name: text}))

    for each in (*found.origins, *found.unreached):
        assert each.place.path == name
        assert 0 < each.place.line <= text.count("\n") + 1
        assert each.command
        assert "\n" not in each.command + each.name + each.doubt
