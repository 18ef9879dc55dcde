"""YAML files as places: where a value stands, so that an error can name its line."""
