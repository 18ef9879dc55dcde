"""Objects brought to what they must be: looked at all at once, compared, and only what differs is written."""
