"""TLS as kubeconfigs mean it, with keys that never touch a disk."""

import ipaddress
import ssl
import urllib.parse
from collections.abc import Mapping

from firstlight import errors
from firstlight.clients import command
from firstlight.clients.kube import client_config, kube_errors
from firstlight.model.secret import Secret

# OpenSSL's numbers (x509_vfy.h); the ssl module has no names for them.
_PROBLEMS = {
    9: kube_errors.CertificateProblem.NOT_YET_VALID,
    10: kube_errors.CertificateProblem.EXPIRED,
    2: kube_errors.CertificateProblem.UNKNOWN_AUTHORITY,
    7: kube_errors.CertificateProblem.UNKNOWN_AUTHORITY,  # a CA of the same name with another key
    18: kube_errors.CertificateProblem.UNKNOWN_AUTHORITY,
    19: kube_errors.CertificateProblem.UNKNOWN_AUTHORITY,
    20: kube_errors.CertificateProblem.UNKNOWN_AUTHORITY,
    21: kube_errors.CertificateProblem.UNKNOWN_AUTHORITY,
    30: kube_errors.CertificateProblem.UNKNOWN_AUTHORITY,  # the same, told by the key's identifier
    62: kube_errors.CertificateProblem.WRONG_NAME,
    64: kube_errors.CertificateProblem.WRONG_NAME,
}


def tls_context(
    config: client_config.ClientConfig, *, certificate: bytes = b"", key: Secret | None = None
) -> ssl.SSLContext:
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


def explain_tls(server: str, error: ssl.SSLCertVerificationError) -> kube_errors.KubeUntrusted:
    """Say what was wrong with a certificate."""
    problem = _PROBLEMS.get(error.verify_code, kube_errors.CertificateProblem.OTHER)
    return kube_errors.KubeUntrusted(server, problem=problem, detail=error.verify_message or str(error))


def _load_pair(made: ssl.SSLContext, config: client_config.ClientConfig, *, certificate: bytes, key: Secret) -> None:
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


# Which proxy leads to a server: the kubeconfig's, else the environment's, as kubectl has it.


def choose_proxy(config: client_config.ClientConfig, environ: Mapping[str, str]) -> client_config.Proxy | None:
    """The proxy for ``config.server``, or none.

    Raises:
        errors.ConfigError: The environment names one that cannot be used; going around it would be no answer.
    """
    if config.proxy is not None:
        return config.proxy
    parts = urllib.parse.urlsplit(config.server)
    name = "HTTPS_PROXY" if parts.scheme == "https" else "HTTP_PROXY"
    url = environ.get(name) or environ.get(name.lower()) or ""
    host = parts.hostname or ""
    excluded = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    if not url or _is_local(host) or _is_excluded(host, parts.port, excluded):
        return None
    try:
        return client_config.parse_proxy(url if "://" in url else f"http://{url}")
    except ValueError as error:
        raise errors.ConfigError(
            f"{name} {error}", path="environment", hint=f"or except the server from it: NO_PROXY={host}"
        ) from None


def _is_local(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _is_excluded(host: str, port: int | None, excluded: str) -> bool:
    address = _address(host)
    for part in (raw.strip().lower() for raw in excluded.split(",")):
        if not part:
            continue
        if part == "*":
            return True
        name, _, number = part.rpartition(":") if part.count(":") == 1 else (part, "", "")
        if number.isdecimal() and int(number) != port:
            continue
        name = name.strip("[]")
        if address is not None:
            try:
                if address in ipaddress.ip_network(name, strict=False):
                    return True
            except (ValueError, TypeError):
                continue
        elif name.startswith((".", "*.")):
            # A leading dot means subdomains only.
            if host.endswith(name.lstrip("*")):
                return True
        elif host == name or host.endswith(f".{name}"):
            return True
    return False


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
