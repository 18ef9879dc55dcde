"""The ways back: a cluster assessed as far as it answers, and the option that was chosen carried out."""
