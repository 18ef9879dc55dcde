"""What a cluster stands on, by the roles of components."""

ROLES = ("cni", "dns", "storage", "secrets", "certificates", "engine")
