"""Tasks of every dialect: how they are found, called and ordered."""

import time
from pathlib import Path

import pytest

from firstlight.model.place import Place
from firstlight.repo import scripts
from firstlight.repo.scripts import script_survey, script_tasks, task_book
from firstlight.repo.scripts.script_tasks import Task, TaskDialect
from tests.unit.repo.scripts import repos


def needs(tree: object) -> dict[str, list[str]]:
    found = scripts.read(tree)  # type: ignore[arg-type]
    return {each.name: [need.id.rpartition("/")[2] for need in each.needs] for each in found.origins}


def task(
    name: str, *, path: str = "Taskfile.yaml", dialect: TaskDialect = TaskDialect.TASK, description: str = ""
) -> Task:
    return Task(name=name, local=name, dialect=dialect, place=Place(path, hash(name) % 1000), description=description)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("bootstrap", True), ("bootstrap:apps", True), ("k8s-bootstrap", True), ("phased", True), ("apps:deploy", True),
        ("up", True), ("install", True), ("deploy-core", True), ("cluster:create-infra", True), ("create-token", False),
        ("bootstrap:validate", False), ("bootstrap:reset", False), ("test", False), ("upgrade-k8s", False),
        ("validation:bootstrap", False), ("uninstall", False), ("updates", False),
    ],
)  # fmt: skip
def test_a_bootstrap_is_known_by_its_name(name: str, is_one: bool) -> None:
    assert script_tasks.is_bootstrap(task(name)) is is_one


def test_a_script_is_known_by_its_path() -> None:
    assert script_tasks.is_bootstrap(task("x", path="scripts/bootstrap-apps.sh", dialect=TaskDialect.SHELL))
    assert script_tasks.is_bootstrap(task("x", path="bootstrap/run.sh", dialect=TaskDialect.SHELL))
    assert not script_tasks.is_bootstrap(task("x", path=".github/scripts/bootstrap.sh", dialect=TaskDialect.SHELL))
    assert not script_tasks.is_bootstrap(task("x", path="scripts/test-bootstrap.sh", dialect=TaskDialect.SHELL))


def test_what_reaches_most_comes_first_and_what_is_old_comes_last() -> None:
    old, small, big = task("bootstrap:old", description="Legacy way"), task("bootstrap:a"), task("bootstrap:b")
    calls = {big.key: {("x", 1), ("x", 2)}, old.key: {("x", n) for n in range(9)}}

    assert [each.name for each in script_tasks.entries([old, small, big], calls)] == [
        "bootstrap:b",
        "bootstrap:a",
        "bootstrap:old",
    ]


def test_dependencies_of_task_run_side_by_side(tmp_path: Path) -> None:
    text = """version: '3'
tasks:
  bootstrap: {deps: [a, b], cmds: [helm install last ./c]}
  a: {cmds: [helm install a1 ./c, helm install a2 ./c]}
  b: {deps: [zero], cmds: [helm install b1 ./c]}
  zero: {cmds: [helm install z ./c]}
"""
    assert needs(repos.write(tmp_path, {"Taskfile.yml": text})) == {
        "a1": [], "a2": ["a1"], "z": [], "b1": ["z"], "last": ["a2", "b1"],
    }  # fmt: skip


def test_dependencies_of_just_and_make_run_one_after_the_other(tmp_path: Path) -> None:
    just = "bootstrap: a b\n    helm install last ./c\na:\n    helm install a ./c\nb:\n    helm install b ./c\n"
    make = "up: p q\n\thelm install end ./c\np:\n\thelm install p ./c\nq:\n\thelm install q ./c\n"

    assert needs(repos.write(tmp_path, {"justfile": just, "deploy/Makefile": make})) == {
        "a": [], "b": ["a"], "last": ["b"], "p": [], "q": ["p"], "end": ["q"],
    }  # fmt: skip


def test_a_task_that_is_called_twice_is_followed_once(tmp_path: Path) -> None:
    lines = "\n".join(f"  t{n}: {{deps: [t{n + 1}, t{n + 1}], cmds: [{{task: t{n + 1}}}]}}" for n in range(30))
    text = f"version: '3'\ntasks:\n  bootstrap: {{deps: [t0]}}\n{lines}\n  t30: helm install x ./c\n"
    start = time.process_time()

    assert needs(repos.write(tmp_path, {"Taskfile.yml": text})) == {"x": []}
    assert time.process_time() - start < 5


def test_each_set_of_variables_is_another_run(tmp_path: Path) -> None:
    text = """version: '3'
tasks:
  bootstrap:
    - {task: app, vars: {NAME: one}}
    - {task: app, vars: {NAME: two}}
    - task app NAME=three
  app: helm install {{.NAME}} ./c
"""
    assert needs(repos.write(tmp_path, {"Taskfile.yml": text})) == {"one": [], "two": ["one"], "three": ["two"]}


def test_variables_of_task_are_set_in_the_order_of_task(tmp_path: Path) -> None:
    root = """version: '3'
vars: {A: global, B: '{{.A}}-b', C: global}
includes:
  inc: {taskfile: ./inc, vars: {C: include}}
tasks:
  bootstrap: [{task: 'inc:x', vars: {D: call, E: call}}]
"""
    inner = """version: '3'
vars: {C: '{{.C}}-file', F: '{{.F | default "none"}}'}
tasks:
  x:
    vars: {E: task, G: '{{.D}}-task'}
    cmds: ['helm install {{.A}}.{{.B}}.{{.C}}.{{.D}}.{{.E}}.{{.F}}.{{.G}} ./c']
"""
    tree = repos.write(tmp_path, {"Taskfile.yml": root, "inc/Taskfile.yaml": inner})

    assert list(needs(tree)) == ["global.global-b.include-file.call.task.none.call-task"]


def test_a_cluster_is_known_by_the_context_where_the_repo_has_such_a_name(tmp_path: Path) -> None:
    text = "kubectl --context admin@home apply -f a.yaml\nkubectl --context elsewhere apply -f b.yaml\n"
    tree = repos.write(tmp_path, {"bootstrap.sh": text, "clusters/home/x/y.yaml": "a: 1\n"})

    assert [each.cluster for each in scripts.read(tree).origins] == ["home", ""]


def test_modules_of_just_are_found_where_just_finds_them(tmp_path: Path) -> None:
    files = {
        "justfile": "mod one\nmod two 'deep/two'\nimport 'x.just'\n"
        "bootstrap: one::a\n    just two b\n    just two::c arg\n    just d\n",
        "one.just": "a:\n    helm install a ./c\n",
        "deep/two/mod.just": "b:\n    helm install b {{ source_directory() }}/c\n"
        "c name='n':\n    helm install {{ name }} ./c\n",
        "x.just": "d:\n    helm install d ./c\n",
        "deep/two/c/Chart.yaml": "name: c\n",
    }
    found = scripts.read(repos.write(tmp_path, files))

    assert [each.name for each in found.origins] == ["a", "b", "arg", "d"]
    assert [each.certainty for each in found.origins][1:3] == ["parsed", "parsed"]


def test_a_chain_of_scripts_is_followed(tmp_path: Path) -> None:
    files = {
        "Makefile": "bootstrap:\n\t./scripts/one.sh first\n",
        "scripts/one.sh": "#!/bin/sh\n. ./scripts/lib.sh\nbash scripts/two.sh \"$1\"\nsay done\n",
        "scripts/lib.sh": "say() { helm install \"$1\" ./c; }\n",
        "scripts/two.sh": "#!/bin/sh\nhelm install $1 ./c\ntask three\n",
        "Taskfile.yml": "version: '3'\ntasks: {three: helm install three ./c}\n",
    }  # fmt: skip
    tree = repos.write(tmp_path, files)

    assert needs(tree) == {"first": [], "three": ["first"], "done": ["three"]}
    assert script_survey.survey_of(tree).entries == ("bootstrap",)


def test_nothing_outside_of_the_repo_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret.yml").write_text("version: '3'\ntasks: {bootstrap: helm install leaked ./c}\n")
    files = {
        "Taskfile.yml": "version: '3'\nincludes: {a: ../secret.yml, b: /etc}\n"
        "tasks: {bootstrap: 'kubectl apply -f ../secret.yml'}\n",
        "justfile": "import '../secret.yml'\n",
        "Makefile": "include ../secret.yml\n",
    }
    found = scripts.read(repos.write(tmp_path / "repo", files))

    assert [each.name for each in found.origins] == ["secret"]
    assert "outside of the repo" in found.origins[0].doubt


def test_only_files_that_look_like_scripts_are_opened(tmp_path: Path) -> None:
    opened: list[str] = []
    tree = repos.write(tmp_path, {f"apps/{n}.yaml": "a: 1\n" for n in range(20)} | {"up.sh": "helm install a ./c\n"})
    read = tree.bytes
    tree.bytes = lambda path: opened.append(path) or read(path)  # type: ignore[func-returns-value, method-assign]

    scripts.read(tree)

    assert opened == ["up.sh"]


def test_ten_thousand_files_and_a_long_taskfile_are_read_in_seconds(tmp_path: Path) -> None:
    commands = "\n".join(f"  t{n}: [kubectl apply -f apps/{n}.yaml, '{{task: t{n + 1}}}']" for n in range(800))
    text = f"version: '3'\ntasks:\n  bootstrap: [{{task: t0}}]\n{commands}\n  t800: kubectl get pods\n"
    tree = repos.write(tmp_path, {"Taskfile.yml": text, "apps/0.yaml": "kind: A\nmetadata: {name: a}\n"})
    start = time.process_time()

    scripts.read(tree)

    assert time.process_time() - start < 10


def test_functions_and_tasks_that_call_themselves_end(tmp_path: Path) -> None:
    files = {
        "Taskfile.yml": "version: '3'\ntasks:\n  bootstrap: [{task: bootstrap}, task bootstrap X={{.X}}x]\n"
        "  a: [{task: b}]\n  b: [{task: a}]\n",
        "bootstrap.sh": "#!/bin/sh\nf() { f; f; helm install x ./c; }\nf\n"
        "./bootstrap.sh \"$1x\"\nsource ./bootstrap.sh\n",
        "justfile": "bootstrap: bootstrap\n    just bootstrap\n",
        "Makefile": "bootstrap: bootstrap\n\t$(MAKE) bootstrap\n",
    }  # fmt: skip
    start = time.process_time()

    found = scripts.read(repos.write(tmp_path, files))

    assert {each.name for each in found.origins} == {"x"}
    assert time.process_time() - start < 10


def test_the_same_repo_gives_the_same_answer(tmp_path: Path) -> None:
    files = {
        "a.sh": "helm install a ./c\n",
        "b/up.sh": "kubectl apply -f x\n",
        "justfile": "deploy:\n    helm install j ./c\n",
    }
    one, two = repos.write(tmp_path / "1", files), repos.write(tmp_path / "2", files)

    assert scripts.read(one) == scripts.read(two)
    assert task_book.read_tasks(one).tasks == task_book.read_tasks(two).tasks


def test_windows_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    files = {
        "Taskfile.yml": "\ufeffversion: '3'\r\ntasks:\r\n  bootstrap:\r\n    - |\r\n"
        "      helm install \\\r\n        a ./c\r\n",
        "up.sh": "\ufeff#!/bin/sh\r\nhelm install \\\r\n  b ./c\r\n",
        "justfile": "deploy:\r\n    helm install c ./c\r\n",
        "Makefile": "install:\r\n\thelm install \\\r\n\t  d ./c\r\n",
    }
    found = scripts.read(repos.write(tmp_path, files))

    assert {each.name: (each.place.path, each.place.line) for each in found.origins} == {
        "a": ("Taskfile.yml", 5), "b": ("up.sh", 2), "c": ("justfile", 2), "d": ("Makefile", 2),
    }  # fmt: skip


def test_what_a_run_of_mise_tells_is_not_known(tmp_path: Path) -> None:
    text = "[tasks.bootstrap]\nrun = 'helm install {{arg(name=\"x\")}} {{config_root}}/c'\n"
    (origin,) = scripts.read(repos.write(tmp_path, {"mise.toml": text, "c/Chart.yaml": "name: c\n"})).origins

    assert origin.doubt == 'arg(name="x") is only known when it runs'
    assert origin.source.name == "c"  # type: ignore[union-attr]


def test_files_that_another_command_names_are_not_the_whole_repo(tmp_path: Path) -> None:
    tree = repos.write(tmp_path, {"bootstrap.sh": "ls *.yaml | xargs -n1 kubectl apply -f\n", "a.yaml": "kind: A\n"})

    found = scripts.read(tree)

    assert found.origins == found.unreached == ()
    assert [each.code for each in found.diagnostics] == ["script-deploys-unknown"]


@pytest.mark.parametrize(
    "line",
    [
        'kubectl apply -f "$2"',
        'sed s/a/b/ "$1" | kubectl apply -f -',
        'gh pr view "$PR" --json body | jq -r .body | kubectl apply -f -',
        'helm upgrade --install "$RELEASE" "$CHART"',
        "kubectl apply -f $(ls apps/*.yaml)",
    ],
)
def test_what_only_a_run_names_is_not_a_component(line: str, tmp_path: Path) -> None:
    found = scripts.read(repos.write(tmp_path, {"bootstrap.sh": line}))

    assert found.origins == found.unreached == ()
    assert [each.code for each in found.diagnostics] == ["script-deploys-unknown"]


def test_a_taskfile_elsewhere_is_not_known(tmp_path: Path) -> None:
    text = "version: '3'\nincludes: {x: 'https://git.example.org/Taskfile.yml'}\ntasks: {up: helm install a ./c}\n"

    (diagnostic,) = scripts.read(repos.write(tmp_path, {"Taskfile.yml": text})).diagnostics

    assert (diagnostic.severity, diagnostic.place.line) == ("unknown", 2)


def test_where_somebody_says_bootstrap_a_deploy_is_for_afterwards(tmp_path: Path) -> None:
    text = """version: '3'
tasks:
  bootstrap: {cmds: [helm install cni ./c, {task: install-dns}]}
  install-dns: helm install dns ./c
  deploy-shop: helm install shop ./c
"""
    found = scripts.read(repos.write(tmp_path, {"Taskfile.yml": text}))

    assert [each.name for each in found.origins] == ["cni", "dns"]
    assert [each.name for each in found.unreached] == ["shop"]
