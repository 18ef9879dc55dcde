"""Names of Helm: labels, annotations, the Secrets of releases, the field manager. Each is written only here."""

from typing import Final

FIELD_MANAGER: Final = "helm"
"""As whom Helm's own command writes, whatever its file is called: its main sets the name, in Helm 3 since
https://github.com/helm/helm/pull/9870 and in Helm 4. Only other programs that have Helm built in, and set none, write
under the name of their file."""

# What Helm puts on the objects of a release, and needs to find on them before it adopts them.
RELEASE_NAME_ANNOTATION: Final = "meta.helm.sh/release-name"
RELEASE_NAMESPACE_ANNOTATION: Final = "meta.helm.sh/release-namespace"
MANAGED_BY_LABEL: Final = "app.kubernetes.io/managed-by"
MANAGED_BY_HELM: Final = "Helm"
"""The value of that label."""

# What charts say.
CHART_LABEL: Final = "helm.sh/chart"
HOOK_ANNOTATION: Final = "helm.sh/hook"
RESOURCE_POLICY_ANNOTATION: Final = "helm.sh/resource-policy"

# The Secrets in which Helm keeps releases: ``sh.helm.release.v1.NAME.vN``.
RELEASE_SECRET_TYPE: Final = "helm.sh/release.v1"  # noqa: S105
RELEASE_SECRET_PREFIX: Final = "sh.helm.release.v1."  # noqa: S105
RELEASE_SECRET_OWNER: Final = "helm"  # noqa: S105
"""The value of their label ``owner``."""
RELEASE_SECRET_SELECTOR: Final = f"owner={RELEASE_SECRET_OWNER}"
