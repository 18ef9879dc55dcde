"""The decision framework and the audit rules: data first, code second."""
