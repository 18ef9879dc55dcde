"""``firstlight boundary``: compare what bootstrap applies with what GitOps applies."""
