"""Repos that mean harm, as data, and what must hold whatever is read of them."""
