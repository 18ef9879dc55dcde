"""References (op://, sops:, vault:, env:, file:) made secret values, at the last moment."""
