"""Git over smart HTTP: bare repositories, served by the real git."""
