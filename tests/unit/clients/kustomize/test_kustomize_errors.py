import inspect
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import kustomize
from firstlight.clients.kustomize import kustomize_errors

APP = Path("/r/app")
NESTED = "Error: accumulating resources: accumulation err='accumulating resources from '../b': '/r/b' must resolve'"
SAID = [
    (
        "Error: accumulating resources: accumulation err='accumulating resources from 'n.yaml': evalsymlink failure on"
        " '/r/app/n.yaml' : lstat /r/app/n.yaml: no such file or directory': must build at directory: x",
        "MissingFile",
        "/r/app/n.yaml",
    ),
    (
        "Error: unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '/r/x'",
        "MissingFile",
        "/r/x",
    ),
    (
        f"{NESTED}: recursed accumulation of path '/r/b': accumulating resources: accumulating resources from 'a.yaml':"
        " MalformedYAMLError: yaml: line 7: did not find expected node content in File: a.yaml",
        "BadYaml",
        "/r/b/a.yaml",
    ),
    (
        f"{NESTED}: cycle detected: candidate root '/r/app' contains visited root '/r/app'",
        "KustomizeCycle",
        "/r/app",
    ),
    ('Error: invalid Kustomization: json: unknown field "x"', "BadYaml", None),
    ("Error: kustomization.yaml is empty", "BadYaml", None),
    (
        "Error: loading generator plugins: failed to load generator: external plugins disabled; unable to load external"
        " plugin 'Gen'",
        "KustomizeForbidden",
        None,
    ),
    (
        "Error: accumulating resources: accumulation err='accumulating resources from 'https://h/x': Get \"https://h/x\":"
        " proxyconnect tcp: dial tcp 127.0.0.1:1: connect: connection refused': must build at directory: x",
        "KustomizeForbidden",
        None,
    ),
    (
        "Error: x: no 'git' program on path: exec: \"git\": executable file not found in $PATH",
        "KustomizeForbidden",
        None,
    ),
    (
        "Error: x: security; file '/r/a.yaml' is not in or below '/r/app'': must build at directory: y",
        "KustomizeForbidden",
        None,
    ),
    ("Error: x: must specify --enable-helm", "KustomizeForbidden", None),
    ('Error: no resource matches strategic merge patch "X": no matches for Id X', "KustomizeUnmatched", None),
    (
        "Error: accumulating resources: accumulation err='merging resources from 'b.yaml': may not add resource with an"
        " already registered id: ConfigMap.v1.[noGrp]/x.[noNs]': must build at directory: x",
        "KustomizeDuplicate",
        None,
    ),
    ("Error: something new", "KustomizeError", None),
    ("", "KustomizeError", None),
]


@pytest.mark.parametrize(("stderr", "expected", "path"), SAID)
def test_what_kustomize_says_and_what_it_means(stderr: str, expected: str, path: str | None) -> None:
    error = kustomize_errors.from_output(APP, stderr)

    assert type(error).__name__ == expected
    assert (str(error.path) if error.path else None) == path
    assert "\n" not in error.message
    assert "must build at directory" not in error.detail
    assert "Error: " not in error.detail


def test_lines_of_yaml_are_known() -> None:
    error = kustomize_errors.from_output(APP, SAID[2][0])

    assert (error.line, error.message) == (7, "/r/b/a.yaml:7: yaml: line 7: did not find expected node content")


def test_configurations_are_not_repeated() -> None:
    error = kustomize_errors.from_output(
        APP,
        "Error: trouble configuring builtin SecretGenerator with config: `\nliterals:\n- password=hunter2\n`: no such",
    )

    assert error.detail == "trouble configuring builtin SecretGenerator: no such"
    assert "hunter2" not in error.stderr


def test_general_handlers_catch_them() -> None:
    assert issubclass(kustomize_errors.KustomizeTimedOut, errors.TimedOut)
    assert issubclass(kustomize_errors.KustomizeForbidden, errors.Refused)
    assert kustomize_errors.KustomizeForbidden.exit_code == 3


def test_the_drawing_of_the_tree_is_complete_and_all_are_public() -> None:
    drawn = inspect.getdoc(kustomize_errors) or ""
    classes = [
        name
        for name, member in inspect.getmembers(kustomize_errors, inspect.isclass)
        if issubclass(member, errors.ClientError)
    ]

    assert classes
    assert [name for name in classes if f" {name} " not in drawn] == []
    assert set(classes) <= set(kustomize.__all__)
    assert "firstlight.clients.kustomize.kustomize_errors" in (inspect.getdoc(errors) or "")
