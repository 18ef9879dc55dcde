"""What in a repo is secret: names, texts, fields, key files."""
