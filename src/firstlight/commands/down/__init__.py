"""down."""
