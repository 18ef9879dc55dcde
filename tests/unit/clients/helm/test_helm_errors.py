import inspect

import pytest

from firstlight import errors
from firstlight.clients import helm
from firstlight.clients.helm import helm_errors

FETCH = 'Error: failed to perform "FetchReference" on source: '
LOOKS = 'Error: looks like "https://h" is not a valid chart repository or cannot be reached: '
SAID = [
    (f'{FETCH}Get "https://h/v2/x/manifests/1": dial tcp 10.0.0.1:443: connect: connection refused', "HelmUnreachable"),
    (f'{FETCH}Get "https://h/v2/": dial tcp: lookup h on 10.0.0.1:53: no such host', "HelmUnreachable"),
    (f'{FETCH}GET "https://h/v2/x": response status code 503: Service Unavailable', "HelmUnreachable"),
    (f'{FETCH}Get "https://h/v2/": http: server gave HTTP response to HTTPS client', "HelmUnreachable"),
    ('Error: Kubernetes cluster unreachable: Get "https://h/version": dial tcp: connection refused', "HelmUnreachable"),
    (
        f'{FETCH}Get "https://h/v2/": tls: failed to verify certificate: x509: signed by unknown authority',
        "HelmUntrusted",
    ),
    (f'{FETCH}GET "https://h/v2/x": basic credential not found', "HelmUnauthorised"),
    (
        f'{FETCH}GET "https://h/v2/x": response status code 401: unauthorized: authentication required',
        "HelmUnauthorised",
    ),
    (f"{LOOKS}failed to fetch https://h/index.yaml : 403 Forbidden", "HelmUnauthorised"),
    ('Error: secrets is forbidden: User "ada" cannot list resource "secrets" in API group ""', "HelmUnauthorised"),
    ("Error: the server has asked for the client to provide credentials", "HelmUnauthorised"),
    (f"{FETCH}h/lib/x:9.2.3: not found", "ChartNotFound"),
    (f"{LOOKS}failed to fetch https://h/index.yaml : 404 Not Found", "ChartNotFound"),
    (f"{LOOKS}error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string", "ChartNotFound"),
    ('Error: chart "d" not found in https://h repository', "ChartNotFound"),
    ('Error: chart "d" matching 7 not found in x index. (try): no chart name found', "ChartNotFound"),
    ('Error: path "/nope" not found', "ChartNotFound"),
    ("Error: could not locate a version matching provided version string ^9", "VersionNotFound"),
    ('Error: chart "c" matching 7 not found in x index. (try): no chart version found for c-7', "VersionNotFound"),
    ("Error: failed to parse values 1: cannot unmarshal yaml document: error converting YAML", "BadValues"),
    ("Error: chart requires kubeVersion: >=1.99 which is incompatible with Kubernetes v1.36.0", "BadChart"),
    ("Error: Chart.yaml file is missing", "BadChart"),
    ("Error: release: not found", "ReleaseNotFound"),
    ('Error: UPGRADE FAILED: "one" has no deployed releases', "ReleaseNotFound"),
    ("Error: INSTALLATION FAILED: cannot reuse a name that is still in use", "HelmAlreadyExists"),
    ("Error: UPGRADE FAILED: another operation (install/upgrade/rollback) is in progress", "HelmBusy"),
    (
        'Error: INSTALLATION FAILED: ConfigMap "x" exists and cannot be imported into the current release',
        "HelmNotOwned",
    ),
    ("Error: UPGRADE FAILED: context deadline exceeded", "HelmTimedOut"),
    ("Error: INSTALLATION FAILED: resource Deployment/x/y not ready\ncontext deadline exceeded", "HelmTimedOut"),
    ('Error: INSTALLATION FAILED: unable to build kubernetes objects: no matches for kind "X"', "HelmRejected"),
    ('Error: INSTALLATION FAILED: admission webhook "x" denied the request: no', "HelmRejected"),
    ("Error: something new", "HelmError"),
    ("", "HelmError"),
]


@pytest.mark.parametrize(("stderr", "expected"), SAID)
def test_what_helm_says_and_what_it_means(stderr: str, expected: str) -> None:
    error = helm_errors.from_output("pull", stderr, target="oci://h/x")

    assert type(error).__name__ == expected
    assert error.message.startswith("helm pull of oci://h/x: ")
    assert "\n" not in error.message
    assert "FAILED" not in error.message
    assert "Error: " not in error.message


def test_a_template_inside_a_template() -> None:
    said = (
        'level=WARN msg="x"\nError: UPGRADE FAILED: c/templates/a.yaml:1:6\n'
        '  executing "c/templates/a.yaml" at <include "c.h" .>:\n'
        "    error calling include:\nc/charts/d/templates/_h.tpl:2:10\n"
        '  executing "c.h" at <.Values.a.b.c>:\n    nil pointer evaluating interface {}.b\n\n'
        "Use --debug flag to render out invalid YAML\n"
    )

    error = helm_errors.from_output("upgrade", said)

    assert isinstance(error, helm_errors.HelmTemplateError)
    assert error.places == (
        helm_errors.TemplatePlace("c/templates/a.yaml", 1, 6),
        helm_errors.TemplatePlace("c/charts/d/templates/_h.tpl", 2, 10),
    )
    assert str(error.place) == "c/charts/d/templates/_h.tpl:2:10"
    assert error.detail.endswith("nil pointer evaluating interface {}.b")
    assert "level=" not in error.detail


def test_a_template_without_a_place() -> None:
    error = helm_errors.from_output("template", "Error: could not find template x in chart")

    assert isinstance(error, helm_errors.HelmTemplateError)
    assert error.place is None


def test_a_schema_of_several_charts() -> None:
    said = (
        "Error: values don't meet the specifications of the schema(s) in the following chart(s):\n"
        "c:\n- at '': missing property 'x'\n- at '/a/b': got string, want integer\nd:\n- something else\n"
    )

    error = helm_errors.from_output("template", said)

    assert isinstance(error, helm_errors.SchemaViolation)
    assert error.problems == (
        helm_errors.SchemaProblem("c", "/", "missing property 'x'"),
        helm_errors.SchemaProblem("c", "/a/b", "got string, want integer"),
        helm_errors.SchemaProblem("d", "/", "something else"),
    )
    assert error.detail.startswith("/ of c: missing property 'x'; /a/b of c: ")


def test_a_write_of_somebody_else_in_between_is_no_question_of_owners() -> None:
    overtaken = helm_errors.from_output(
        "install",
        "Error: INSTALLATION FAILED: conflict occurred while applying object x/y /v1, Kind=ConfigMap: Operation cannot"
        ' be fulfilled on configmaps "y": the object has been modified; please apply your changes to the latest',
    )

    assert isinstance(overtaken, helm_errors.HelmOvertaken)


def test_an_api_server_that_is_not_well_is_not_a_bad_chart() -> None:
    unwell = helm_errors.from_output(
        "install",
        "Error: INSTALLATION FAILED: unable to build kubernetes objects from release manifest: error validating data:"
        " failed to download openapi: the server is currently unable to handle the request",
    )

    assert isinstance(unwell, helm_errors.HelmUnreachable)


def test_who_owns_what_and_what_is_missing() -> None:
    conflict = helm_errors.from_output(
        "upgrade",
        "Error: UPGRADE FAILED: conflict occurred while applying object x/y v1, Kind=ConfigMap: Apply failed with 2"
        " conflicts:"
        ' conflicts with "flux":\n- .data.a\nconflict with "kubectl" using v1: .data.b\n',
    )
    missing = helm_errors.from_output(
        "template", "Error: x: found in Chart.yaml, but missing in charts/ directory: a, b"
    )

    assert isinstance(conflict, helm_errors.HelmConflict)
    assert conflict.managers == ("flux", "kubectl")
    assert isinstance(missing, helm_errors.BadChart)
    assert missing.missing == ("a", "b")


def test_general_handlers_catch_them() -> None:
    assert issubclass(helm_errors.HelmUnreachable, errors.Unreachable)
    assert issubclass(helm_errors.HelmTimedOut, errors.TimedOut)


def test_the_drawing_of_the_tree_is_complete_and_all_are_public() -> None:
    drawn = inspect.getdoc(helm_errors) or ""
    classes = [
        name
        for name, member in inspect.getmembers(helm_errors, inspect.isclass)
        if issubclass(member, errors.ClientError)
    ]

    assert classes
    assert [name for name in classes if f" {name} " not in drawn] == []
    assert set(classes) <= set(helm.__all__)
    assert "firstlight.clients.helm.helm_errors" in (inspect.getdoc(errors) or "")


def test_a_registry_without_tls_has_a_way_to_say_so() -> None:
    said = 'Error: failed to do request: Head "https://h/v2/": http: server gave HTTP response to HTTPS client'

    error = helm_errors.from_output("pull", said)

    assert isinstance(error, helm_errors.HelmUnreachable)
    assert "spec.insecure: true of an OCIRepository" in error.hint
