"""Messages of mistakes in the files themselves, which no second try takes, and of what may yet come."""

import pytest

from firstlight.gates.causes import message_codes


@pytest.mark.parametrize(
    ("said", "is_final"),
    [
        ("failed to create typed patch object (a/b; v1, Kind=X): .spec.wrong: field not declared in schema", True),
        ('Deployment.apps "web" is invalid: spec.template.spec.containers: Required value', False),
        ("kustomize build failed: accumulating resources: web.yaml: no such file", True),
        ('no matches for kind "Certificate" in version "cert-manager.io/v1"', False),
        ('failed calling webhook "webhook.cert-manager.io": no endpoints available', False),
        ("kustomize build failed: accumulating resources from 'https://git.example.org/base': timeout", False),
        ('namespaces "shop" not found', False),
        ("health check failed after 30s: timeout waiting for: [Deployment/shop/web status: InProgress]", False),
    ],
)
def test_only_another_commit_helps(said: str, is_final: bool) -> None:
    assert message_codes.is_final(said) is is_final
