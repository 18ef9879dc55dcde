"""External programs and lab components: where they are, which version, and how to get them."""
