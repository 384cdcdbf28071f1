"""Numbers of finished runs, by name. Nothing here draws."""
