"""Helm repositories over HTTP: folders of chart archives, with an index made from them."""
