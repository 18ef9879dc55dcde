"""Results as text, JSON and pictures: data in, strings out."""
