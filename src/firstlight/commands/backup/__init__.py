"""What a cluster cannot be brought back without: taken, kept encrypted, looked through, and let go."""
