"""From bare Talos machines to clusters that Git owns, with proof at every step."""

__version__ = "0.1.0.dev0"
