"""The audit: rules with evidence over all clusters of a platform."""
