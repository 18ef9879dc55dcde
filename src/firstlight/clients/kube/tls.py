"""TLS as kubeconfigs mean it, with keys that never touch a disk."""

import ssl

from firstlight import errors
from firstlight.clients import command
from firstlight.clients.kube import config as configs
from firstlight.clients.kube import errors as kube_errors
from firstlight.model.secret import Secret

# OpenSSL's numbers (x509_vfy.h); the ssl module has no names for them.
_PROBLEMS = {
    9: kube_errors.Problem.NOT_YET_VALID,
    10: kube_errors.Problem.EXPIRED,
    2: kube_errors.Problem.UNKNOWN_AUTHORITY,
    7: kube_errors.Problem.UNKNOWN_AUTHORITY,  # a CA of the same name with another key
    18: kube_errors.Problem.UNKNOWN_AUTHORITY,
    19: kube_errors.Problem.UNKNOWN_AUTHORITY,
    20: kube_errors.Problem.UNKNOWN_AUTHORITY,
    21: kube_errors.Problem.UNKNOWN_AUTHORITY,
    30: kube_errors.Problem.UNKNOWN_AUTHORITY,  # the same, told by the key's identifier
    62: kube_errors.Problem.WRONG_NAME,
    64: kube_errors.Problem.WRONG_NAME,
}


def context(config: configs.Config, *, certificate: bytes = b"", key: Secret | None = None) -> ssl.SSLContext:
    """A context for the server of ``config`` that shows ``certificate``.

    Raises:
        errors.ConfigError: A certificate or key cannot be used.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    # As Go does, and OpenSSL by default does not: what is given as an authority is one, even if it is an
    # intermediate.
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    made.hostname_checks_common_name = False
    if config.insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    elif config.certificate_authority:
        try:
            made.load_verify_locations(cadata=config.certificate_authority.decode("ascii", errors="replace"))
        except ssl.SSLError as error:
            raise errors.ConfigError(
                f"the certificate authority of {config.server} is no PEM certificate", path=config.source
            ) from error
    else:
        made.load_default_certs(ssl.Purpose.SERVER_AUTH)
    if certificate and key is not None:
        _load_pair(made, config, certificate=certificate, key=key)
    return made


def explain(server: str, error: ssl.SSLCertVerificationError) -> kube_errors.Untrusted:
    """Say what was wrong with a certificate."""
    problem = _PROBLEMS.get(error.verify_code, kube_errors.Problem.OTHER)
    return kube_errors.Untrusted(server, problem=problem, detail=error.verify_message or str(error))


def _load_pair(made: ssl.SSLContext, config: configs.Config, *, certificate: bytes, key: Secret) -> None:
    pair = Secret(certificate.rstrip() + b"\n" + key.reveal().strip() + b"\n")
    try:
        with command.memory_file(pair) as file:
            # A password is given so that OpenSSL does not ask for one on the terminal.
            made.load_cert_chain(file.path, password="")
    except (ssl.SSLError, ValueError) as error:
        what = getattr(error, "reason", None) or type(error).__name__
        raise errors.ConfigError(
            f"the client certificate and key for {config.server} cannot be used ({what})",
            path=config.source,
            hint="they must be PEM, belong together, and the key must not be encrypted",
        ) from None
