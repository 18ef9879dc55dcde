"""Each text was printed by talosctl 1.13.0 or 1.14.1, or is made of its format strings where it says so."""

import inspect

import pytest
import yaml

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.clients.talosctl import talos_errors
from tests.unit.clients.talosctl.standin import SAMPLES

CALL = talos_errors.TalosctlCall(("version",), nodes=("10.5.0.2",))
MAINTENANCE = talos_errors.TalosctlCall(("version",), nodes=("10.5.0.2",), insecure=True)
HANDSHAKE = (
    'error getting version: rpc error: code = Unavailable desc = connection error: desc = "transport: authentication'
    " handshake failed: tls: failed to verify certificate: "
)
REFUSED = (
    "rpc error: code = Unavailable desc = connection error:"
    ' desc = "error reading server preface: remote error: tls: certificate required"'
)

BY_CODE = [
    ("PermissionDenied", "not authorized", talos_errors.TalosUnauthorised),
    ("Unauthenticated", "no token", talos_errors.TalosUnauthorised),
    ("AlreadyExists", "etcd data directory is not empty", talos_errors.TalosAlreadyDone),
    ("FailedPrecondition", "time is not in sync yet", talos_errors.TalosNotReady),
    ("InvalidArgument", "unknown key", talos_errors.TalosRejected),
    ("NotFound", 'resource "x" is not registered', talos_errors.TalosNotFound),
    ("Unimplemented", "bootstrap is only available on control plane nodes", talos_errors.TalosUnsupported),
    ("DeadlineExceeded", "context deadline exceeded", talos_errors.TalosTimedOut),
    ("Unknown", "service doesn't support restart", talos_errors.TalosError),
    ("Internal", "oops", talos_errors.TalosError),
]

CONNECTIONS = [
    (stderr, expected)
    for expected, texts in yaml.safe_load((SAMPLES / "connections.yaml").read_text()).items()
    for stderr in texts
]


@pytest.mark.parametrize(("code", "words", "expected"), BY_CODE)
def test_the_code_decides(code: str, words: str, expected: type[talos_errors.TalosError]) -> None:
    error = talos_errors.from_output(CALL, f"error: rpc error: code = {code} desc = {words}\n")

    assert type(error) is expected
    assert (error.grpc_code, error.detail, error.node) == (code, words, "10.5.0.2")
    assert error.message == f"talosctl version on 10.5.0.2: {words}"


@pytest.mark.parametrize(("stderr", "expected"), CONNECTIONS)
def test_where_the_code_says_little_the_words_decide(stderr: str, expected: str) -> None:
    error = talos_errors.from_output(CALL, stderr)

    assert type(error).__name__ == expected
    assert error.message.startswith("talosctl version on 10.5.0.2: ")
    assert "\n" not in error.message


@pytest.mark.parametrize(
    ("sample", "expected", "detail"),
    [
        ("bootstrap", talos_errors.TalosAlreadyDone, "etcd data directory is not empty"),
        ("bootstrap-early", talos_errors.TalosNotReady, "bootstrap is not available yet"),
        ("bootstrap-worker", talos_errors.TalosUnsupported, "bootstrap is only available on control plane nodes"),
        ("bootstrap-reader", talos_errors.TalosUnauthorised, "not authorized"),
        ("reboot-nowait", talos_errors.TalosUnauthorised, "not authorized"),
        ("logs-nope", talos_errors.TalosNotFound, 'log "nope" was not registered'),
        ("members-noleader", talos_errors.TalosNotReady, "etcdserver: no leader"),
        ("restart", talos_errors.TalosError, 'service "apid" doesn\'t support restart operation via API'),
        (
            "apply-invalid",
            talos_errors.TalosRejected,
            "either install disk or diskSelector should be defined; cluster instructions are required",
        ),
    ],
)
def test_recorded_failures(sample: str, expected: type[talos_errors.TalosError], detail: str) -> None:
    error = talos_errors.from_output(CALL, (SAMPLES / f"{sample}.stderr").read_text())

    assert type(error) is expected
    assert error.detail == detail
    assert error.node == "10.5.0.2"


def test_problems_of_a_config_one_by_one() -> None:
    error = talos_errors.from_output(CALL, (SAMPLES / "apply-invalid.stderr").read_text())

    assert error.problems == (
        "either install disk or diskSelector should be defined",
        "cluster instructions are required",
    )


@pytest.mark.parametrize(
    ("words", "problem", "hint"),
    [
        (
            "x509: certificate signed by unknown authority",
            talos_errors.TalosCertificateProblem.UNKNOWN_AUTHORITY,
            "maintenance mode",
        ),
        (
            "x509: certificate has expired or is not yet valid: x",
            talos_errors.TalosCertificateProblem.EXPIRED,
            "clocks",
        ),
        (
            "x509: certificate is valid for 127.0.0.9, not 127.0.0.1",
            talos_errors.TalosCertificateProblem.WRONG_NAME,
            "certSANs",
        ),
        ("x509: something new", talos_errors.TalosCertificateProblem.OTHER, "compare"),
    ],
)
def test_what_is_wrong_with_a_certificate(words: str, problem: talos_errors.TalosCertificateProblem, hint: str) -> None:
    error = talos_errors.from_output(CALL, f'{HANDSHAKE}{words}"')

    assert isinstance(error, talos_errors.TalosUntrusted)
    assert error.problem is problem
    assert hint in error.hint


def test_a_configured_machine_that_is_asked_without_a_certificate() -> None:
    error = talos_errors.from_output(MAINTENANCE, REFUSED)

    assert type(error) is talos_errors.TalosUnauthorised
    assert "configured already" in error.hint
    assert error.detail == "error reading server preface: remote error: tls: certificate required"


def test_what_every_failed_connection_says_is_left_out() -> None:
    error = talos_errors.from_output(
        CALL,
        "rpc error: code = Unavailable desc = connection error:"
        ' desc = "transport: Error while dialing: dial tcp 10.5.0.2:50000: connect: refused"',
    )

    assert error.detail == "dial tcp 10.5.0.2:50000: connect: refused"


def test_the_machine_that_is_named_and_the_others() -> None:
    call = talos_errors.TalosctlCall(("version",), nodes=("10.5.0.2", "fd00::3", "10.5.0.4"))
    stderr = (
        "error getting version: 2 errors occurred:\n"
        "\t* fd00::3: rpc error: code = PermissionDenied desc = not authorized\n"
        '\t* 10.5.0.4: rpc error: code = Unavailable desc = connection error: desc = "transport: x"\n\n'
    )

    error = talos_errors.from_output(call, stderr)

    assert type(error) is talos_errors.TalosUnauthorised
    assert (error.node, error.target) == ("fd00::3", "fd00::3")
    assert [(type(other), other.node) for other in error.others] == [(talos_errors.TalosUnreachable, "10.5.0.4")]
    assert error.message == "talosctl version on fd00::3: not authorized (and 10.5.0.4)"


def test_a_machine_that_is_followed_is_named_and_its_last_word_counts() -> None:
    stderr = (
        '"10.5.0.2": rpc error: code = Unavailable desc = connection error: desc = "transport: x"\n'
        '"10.5.0.2": unavailable, retrying...\n'
        '"10.5.0.2": rpc error: code = PermissionDenied desc = not authorized\n'
    )

    error = talos_errors.from_output(talos_errors.TalosctlCall(("reboot",), nodes=("10.5.0.2",)), stderr)

    assert (type(error), error.node, error.detail) == (talos_errors.TalosUnauthorised, "10.5.0.2", "not authorized")


def test_the_innermost_error_knows_best() -> None:
    error = talos_errors.from_output(
        CALL, "x: rpc error: code = Unknown desc = rpc error: code = NotFound desc = no such file"
    )

    assert (type(error), error.detail) == (talos_errors.TalosNotFound, "no such file")


def test_a_sample_of_a_partial_answer() -> None:
    assert talos_errors.is_partial((SAMPLES / "version-partial.stderr").read_text())
    assert not talos_errors.is_partial("WARNING: 10.5.0.2: server version 1.12.0 is older than client version 1.13.0\n")
    assert not talos_errors.is_partial((SAMPLES / "apply.stderr").read_text())


def test_usage_is_no_part_of_a_message() -> None:
    error = talos_errors.from_output(CALL, "unknown flag: --x\n\nUsage:\n  talosctl version\n\nFlags:\n  --client\n")

    assert error.detail == "unknown flag: --x"
    assert error.hint


def test_general_handlers_catch_them() -> None:
    assert issubclass(talos_errors.TalosUnreachable, errors.Unreachable)
    assert issubclass(talos_errors.TalosTimedOut, errors.TimedOut)


def test_the_drawing_of_the_tree_is_complete_and_all_are_public() -> None:
    drawn = inspect.getdoc(talos_errors) or ""
    classes = [
        name
        for name, member in inspect.getmembers(talos_errors, inspect.isclass)
        if issubclass(member, errors.ClientError)
    ]

    assert classes
    assert [name for name in classes if f" {name} " not in drawn] == []
    assert set(classes) <= set(talosctl.__all__)
    assert "firstlight.clients.talosctl.talos_errors" in (inspect.getdoc(errors) or "")


@pytest.mark.parametrize(
    ("said", "node", "expected"),
    [
        (
            "10.5.0.99: error getting server version: rpc error: code = Unavailable desc = connection error: "
            'desc = "transport: Error while dialing: dial tcp 10.5.0.99:50000: connect: no route to host"',
            "10.5.0.99",
            talos_errors.TalosUnreachable,
        ),
        (
            "error getting version from node 10.5.0.99: rpc error: code = PermissionDenied desc = not authorized",
            "10.5.0.99",
            talos_errors.TalosUnauthorised,
        ),
        (
            "error restarting process on node 10.5.0.2: rpc error: code = Unimplemented desc = method Restart",
            "10.5.0.2",
            talos_errors.TalosUnsupported,
        ),
        (
            "error executing bootstrap: rpc error: code = AlreadyExists desc = etcd data directory is not empty",
            "10.5.0.2",
            talos_errors.TalosAlreadyDone,
        ),
        (
            "127.0.0.1: error applying configuration: rpc error: code = FailedPrecondition "
            "desc = another apply configuration is already in progress",
            "127.0.0.1",
            talos_errors.TalosNotReady,
        ),
    ],
)
def test_talosctl_1_14_names_each_machine(said: str, node: str, expected: type[talos_errors.TalosError]) -> None:
    """It asks every machine itself, and says which one failed in other words than before."""
    error = talos_errors.from_output(CALL, said)

    assert (type(error), error.node) == (expected, node)
