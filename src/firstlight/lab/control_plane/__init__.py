"""Real etcd, API server, controller manager and scheduler: flags, certificates, configuration."""
