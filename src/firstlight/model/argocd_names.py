"""Names of Argo CD: API groups, kinds, labels, annotations, controllers. Each is written only here."""

from typing import Final

# API groups and versions.
GROUP: Final = "argoproj.io"
API: Final = f"{GROUP}/v1alpha1"

# Kinds.
APPLICATION: Final = "Application"
APPLICATION_SET: Final = "ApplicationSet"
APP_PROJECT: Final = "AppProject"

# Group and kind in one.
APPLICATION_GROUP_KIND: Final = f"{GROUP}/{APPLICATION}"
APP_PROJECT_GROUP_KIND: Final = f"{GROUP}/{APP_PROJECT}"

# Labels and annotations that Argo CD puts on what is its own.
ANNOTATION_DOMAIN: Final = f"argocd.{GROUP}"
TRACKING_ID_ANNOTATION: Final = f"{ANNOTATION_DOMAIN}/tracking-id"
"""By which Argo CD knows what is its own."""
INSTANCE_LABEL: Final = f"{ANNOTATION_DOMAIN}/instance"
"""What it uses instead of the tracking id, as it is set up."""

# Annotations by which people and Git tell it what to do.
SYNC_OPTIONS_ANNOTATION: Final = f"{ANNOTATION_DOMAIN}/sync-options"
SYNC_WAVE_ANNOTATION: Final = f"{ANNOTATION_DOMAIN}/sync-wave"
COMPARE_OPTIONS_ANNOTATION: Final = f"{ANNOTATION_DOMAIN}/compare-options"
HOOK_ANNOTATION: Final = f"{ANNOTATION_DOMAIN}/hook"
SKIP_RECONCILE_ANNOTATION: Final = f"{ANNOTATION_DOMAIN}/skip-reconcile"
"""Lets an Application rest."""
REFRESH_ANNOTATION: Final = f"{ANNOTATION_DOMAIN}/refresh"
APPLICATION_SET_REFRESH_ANNOTATION: Final = f"{ANNOTATION_DOMAIN}/application-set-refresh"
NOTIFICATIONS_SUBSCRIBE_ANNOTATION: Final = f"notifications.{GROUP}/subscribe"

SECRET_TYPE_LABEL: Final = f"{ANNOTATION_DOMAIN}/secret-type"
"""Tells which Secrets are repositories or clusters."""

# Finalizers of an Application.
RESOURCES_FINALIZER: Final = f"resources-finalizer.{ANNOTATION_DOMAIN}"
PRE_DELETE_FINALIZER: Final = f"pre-delete-finalizer.{ANNOTATION_DOMAIN}"
POST_DELETE_FINALIZER: Final = f"post-delete-finalizer.{ANNOTATION_DOMAIN}"

HEALTH_CUSTOMIZATION: Final = f"resource.customizations.health.{GROUP}_{APPLICATION}"
"""The key of argocd-cm that says when an Application is healthy."""

# Workloads.
APPLICATION_CONTROLLER: Final = "argocd-application-controller"
APPLICATION_SET_CONTROLLER: Final = "argocd-applicationset-controller"
REPO_SERVER: Final = "argocd-repo-server"
SERVER: Final = "argocd-server"
REDIS: Final = "argocd-redis"

FIELD_MANAGER: Final = "argocd-controller"
"""As which the application controller applies."""

NAMESPACE: Final = "argocd"
"""Where it is installed, where nothing else is said."""
PART_OF: Final = "argocd"
"""The value of ``app.kubernetes.io/part-of`` on what belongs to Argo CD."""
