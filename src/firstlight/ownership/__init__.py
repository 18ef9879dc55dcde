"""Who owns objects and their fields. Data in, data out."""
