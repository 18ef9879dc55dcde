"""The stages by which a change moves a component between bootstrap and GitOps."""
