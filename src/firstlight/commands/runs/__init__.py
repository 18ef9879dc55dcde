"""A run as text, JSON and a picture: while it goes on, when it is over, and long after."""
