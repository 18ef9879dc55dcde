"""YAML as Kubernetes and as Talos read it, written so that Go reads the same, and edited where it stands."""
