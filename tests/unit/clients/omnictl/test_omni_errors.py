"""What omnictl says, by its meaning."""

import pytest

from firstlight import errors
from firstlight.clients import omnictl
from firstlight.clients.omnictl.omni_errors import from_output

WARNING = """[WARN] github.com/siderolabs/omni/client/pkg/version.API is not set, client-server version validation is disabled.
If you want to enable the version validation and disable this warning, set github.com/siderolabs/omni/client/pkg/version.SuppressVersionWarning to true.
"""  # noqa: E501
RPC = "Error: rpc error: code = "
REFUSED = "Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"
STRANGER = "authentication handshake failed: tls: failed to verify certificate: x509: unknown authority"
NESTED = """Error: 1 error occurred:
\t* error validating cluster "apps": 2 errors occurred:
\t* patch "p.yaml" is invalid: 1 error occurred:
\t* failed to access "p.yaml": open p.yaml: no such file or directory


\t* error validating Kubernetes version: 1 error occurred:
\t* version should be in semver format: Invalid character(s) found in patch number "x"


"""


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (f'{RPC}Unavailable desc = connection error: desc = "transport: {REFUSED}"', omnictl.OmniUnreachable),
        (f"{RPC}Unavailable desc = name resolver error: produced zero addresses", omnictl.OmniUnreachable),
        (f'{RPC}Unavailable desc = connection error: desc = "transport: {STRANGER}"', omnictl.OmniUntrusted),
        ("Error: rpc error: code = Unauthenticated desc = invalid signature", omnictl.OmniNotSignedIn),
        ("Error: illegal base64 data at input byte 0", omnictl.OmniNotSignedIn),
        ('Error: context "default" has not been configured, you will need to set it manually', omnictl.OmniNotSignedIn),
        ("Error: rpc error: code = PermissionDenied desc = not allowed", omnictl.OmniForbidden),
        ('Error: cluster not found: "apps"', omnictl.OmniNotFound),
        ("Error: resource ClusterUUIDs.omni.sidero.dev(default/apps@undefined) doesn't exist", omnictl.OmniNotFound),
        ("Error: rpc error: code = NotFound desc = resource doesn't exist", omnictl.OmniNotFound),
        ("Error: client API version mismatch: backend API version 2, client API version 1", omnictl.OmniUnsupported),
        ("Error: unknown flag: --wait", omnictl.OmniUnsupported),
        ("Error: context deadline exceeded", omnictl.OmniTimedOut),
        ("Error: rpc error: code = Internal desc = broken", omnictl.OmniError),
        (
            "Error: error loading template:\n  line 2: field bogus not found in type models.Workers",
            omnictl.OmniRejected,
        ),
        (NESTED, omnictl.OmniRejected),
    ],
    ids=[
        "refused",
        "no name",
        "certificate",
        "signature",
        "no key",
        "no context",
        "forbidden",
        "no cluster",
        "no resource",
        "not found",
        "version",
        "flag",
        "deadline",
        "other",
        "field",
        "validation",
    ],
)
def test_the_meaning_of_a_failure(said: str, kind: type[omnictl.OmniError]) -> None:
    error = from_output("cluster template diff", WARNING + said)

    assert type(error) is kind
    assert "[WARN]" not in error.message
    assert str(error).startswith("omnictl cluster template diff: ")
    assert error.hint or kind is omnictl.OmniError


def test_what_passes_by_itself_is_known_as_such() -> None:
    assert issubclass(omnictl.OmniUnreachable, errors.Unreachable)
    assert issubclass(omnictl.OmniTimedOut, errors.TimedOut)


def test_every_problem_of_a_template_is_told_by_itself() -> None:
    assert from_output("cluster template validate", NESTED).problems == (
        'failed to access "p.yaml": open p.yaml: no such file or directory',
        'version should be in semver format: Invalid character(s) found in patch number "x"',
    )
