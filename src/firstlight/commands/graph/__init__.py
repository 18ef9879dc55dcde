"""A plan as a picture: what needs what, phase by phase; as SVG with a layout of our own, as Mermaid and as DOT."""
