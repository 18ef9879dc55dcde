"""Omni cluster templates, read strictly as omnictl reads them."""
