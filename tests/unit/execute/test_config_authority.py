"""Where a machine config has the authority of Kubernetes."""

import base64

import pytest

from firstlight import errors
from firstlight.execute import cluster_access
from firstlight.model.secret import Secret

PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
FIELD = f"machine: {{}}\ncluster: {{token: a.b, ca: {{crt: {base64.b64encode(PEM.encode()).decode()}}}}}\n"
DOCUMENT = (
    "machine: {}\ncluster: {token: a.b}\n"
    "---\napiVersion: v1alpha1\nkind: KubeAPIServerCAConfig\nissuingCA:\n  cert: |\n"
    + "".join(f"    {line}\n" for line in PEM.splitlines())
)


@pytest.mark.parametrize("config", [FIELD, DOCUMENT], ids=["field", "document"])
def test_it_is_a_field_or_a_document(config: str) -> None:
    assert cluster_access.config_authority(Secret(config)) == PEM.encode()


@pytest.mark.parametrize("config", ["cluster: {token: a.b}\n", "cluster: {ca: {crt: nonsense}}\n"])
def test_a_config_without_one_is_refused(config: str) -> None:
    with pytest.raises(errors.Refused):
        cluster_access.config_authority(Secret(config))
